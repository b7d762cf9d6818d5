//! Rows of Parquet and Arrow files, and tables written as Parquet or read as a stream. The only crate that knows Arrow.
//!
//! - `read` reads files as JSON rows, a batch at a time; `values` makes JSON of a value, `class_labels` names the labels of Hugging Face datasets.
//! - `arrow_stream` looks at the messages of a stream before they are read.
//! - `random_access` lets Parquet read a file that is not one of this machine's disk.
//! - `batches` gathers rows of a table as batches of columns; `write` writes them as Parquet, a row group at a time, and
//!   `stream` hands them to a reader in this process.

mod arrow_stream;
mod batches;
mod class_labels;
mod random_access;
mod read;
mod read_error;
mod stream;
mod values;
mod write;

#[cfg(feature = "c-stream")]
pub use arrow_array::ffi_stream::FFI_ArrowArrayStream;
pub use batches::{Column, ColumnKind, Field, RowError};
pub use class_labels::ClassLabels;
pub use random_access::{RandomAccess, ReadSeek};
pub use read::ColumnarRows;
pub use read_error::ReadError;
pub use stream::{StreamError, StreamWriter, TableStream, table_stream};
pub use write::{TableWriter, WriteError};
