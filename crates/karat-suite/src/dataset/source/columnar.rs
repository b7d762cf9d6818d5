//! Parquet and Arrow files.

use std::sync::Arc;

use karat_columnar::{ClassLabels, ColumnarRows, ReadError, ReadSeek};
use serde_json::Value;

use super::RowStream;
use super::raw::{RowPlace, SourceRow};
use crate::dataset::DatasetError;
use crate::diagnostics::{Diagnostic, Severity};

/// The rows of a Parquet file.
pub(super) fn parquet(path: &str, file: Box<dyn ReadSeek>, labels: &ClassLabels) -> RowStream {
    stream(path, ColumnarRows::of_parquet(file), labels)
}

/// The rows of an Arrow stream or file.
pub(super) fn arrow(path: &str, file: Box<dyn ReadSeek>, labels: &ClassLabels) -> RowStream {
    stream(path, ColumnarRows::of_arrow(file), labels)
}

/// Names of the columns that are not read; none of a file that cannot be read.
pub(super) fn left_out(file: Box<dyn ReadSeek>, is_parquet: bool) -> Vec<String> {
    let opened = if is_parquet { ColumnarRows::of_parquet(file) } else { ColumnarRows::of_arrow(file) };
    opened.map(|rows| rows.left_out().to_vec()).unwrap_or_default()
}

/// The place of a row is its number, as that of a JSONL row is its line.
fn stream(path: &str, opened: Result<ColumnarRows, ReadError>, labels: &ClassLabels) -> RowStream {
    let file: Arc<str> = path.into();
    let rows = match opened {
        Ok(rows) => rows.with_labels(labels),
        Err(error) => return Box::new(std::iter::once(Err(unreadable(&file, &error)))),
    };
    Box::new(rows.enumerate().map(move |(at, row)| {
        let value = Value::Object(row.map_err(|error| unreadable(&file, &error))?);
        let text = value.to_string();
        Ok(SourceRow { value, at: Arc::new(RowPlace { file: file.clone(), line: at + 1, text }) })
    }))
}

fn unreadable(path: &str, error: &ReadError) -> DatasetError {
    let mut problem =
        Diagnostic::of_file(Severity::Error, path, format!("the dataset's file {path} cannot be used: {error}"));
    let told = error.to_string();
    let is_codec = told.contains("Disabled feature") || told.contains("decompression requires");
    problem.hint(match error {
        ReadError::Binary(_) => "write the file again with texts in it",
        ReadError::EqualNames(_) => "rename one of them and write the file again",
        ReadError::Parquet(_) | ReadError::Arrow(_) if is_codec => "write it again with snappy, zstd, gzip or lz4, or without compression",
        ReadError::Arrow(_) => "a column may have a type that is not JSON, such as a map whose keys are numbers: write the file again without it",
        _ => "the file may be incomplete: fetch or write it again",
    });
    DatasetError::new(problem)
}
