//! Rows of Parquet and Arrow files, and tables written as Parquet. The only crate that knows Arrow.
//!
//! - `read` reads files as JSON rows, a batch at a time; `class_labels` names the labels of Hugging Face datasets.
//! - `arrow_stream` looks at the messages of a stream before they are read.
//! - `random_access` lets Parquet read a file that is not one of this machine's disk.
//! - `write` writes a table, a row group at a time.

mod arrow_stream;
mod class_labels;
mod random_access;
mod read;
mod read_error;
mod write;

pub use class_labels::ClassLabels;
pub use random_access::{RandomAccess, ReadSeek};
pub use read::ColumnarRows;
pub use read_error::ReadError;
pub use write::{Column, ColumnKind, Field, TableWriter, WriteError};
