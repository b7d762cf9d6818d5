//! A file of columns that cannot be read.

use std::io;

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;

/// A file that cannot be read as rows.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The file is not Parquet, or broken.
    #[error("it is not a valid Parquet file: {0}")]
    Parquet(#[from] ParquetError),
    /// The file is not an Arrow stream, or broken.
    #[error("it is not a valid Arrow stream: {0}")]
    Arrow(#[from] ArrowError),
    /// A message of an Arrow file or stream is broken, or longer than the file.
    #[error("it is not a valid Arrow file or stream, or it is cut off")]
    CutArrow,
    /// The decoder gave up.
    #[error("it is damaged: its content cannot be decoded")]
    Damaged,
    /// All columns have bytes, which are not text.
    #[error("its column `{0}` is binary, as all are, and rows are text, numbers and lists")]
    Binary(String),
    /// Two columns, or two fields of one, have the same name, by which rows hold them.
    #[error("two of its columns have the name `{0}`")]
    EqualNames(String),
}
