//! Tables written as Parquet: zstd, row groups of bounded size.

use std::io::{self, Write};

use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use crate::batches::{Batches, Column, Field, RowError};

/// Maximum number of rows of a row group: what DuckDB reads as one piece.
const GROUP_ROWS: usize = 122_880;
/// Size at which a row group ends early, in bytes.
const GROUP_BYTES: usize = 64 << 20;

/// A table that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A row does not fit.
    #[error(transparent)]
    Row(#[from] RowError),
    /// The file cannot be encoded or written.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
}

/// Writes a table row by row. Memory is bounded by a row group.
pub struct TableWriter<W: Write + Send> {
    batches: Batches,
    out: ArrowWriter<W>,
}

impl<W: Write + Send> TableWriter<W> {
    /// Starts a table; `metadata` stands in the file's key-value metadata.
    ///
    /// # Errors
    /// The beginning cannot be written.
    pub fn new(out: W, columns: Vec<Column>, metadata: &[(&str, &str)]) -> Result<Self, WriteError> {
        let metadata = metadata.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_created_by(concat!("karat ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(metadata.collect()))
            .build();
        let batches = Batches::new(columns);
        let out = ArrowWriter::try_new(out, batches.schema().clone(), Some(properties))?;
        Ok(Self { batches, out })
    }

    /// Adds a row: a value for each column, in order.
    ///
    /// # Errors
    /// A value that is not of its column's kind; a row group that cannot be written.
    pub fn push(&mut self, row: Vec<Field>) -> Result<(), WriteError> {
        if let Some(batch) = self.batches.push(row)? {
            self.out.write(&batch)?;
            if self.out.in_progress_size() >= GROUP_BYTES {
                self.out.flush()?;
            }
        }
        Ok(())
    }

    /// Ends the table and returns what it was written to.
    ///
    /// # Errors
    /// The rest cannot be written.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.out.write(&self.batches.take()?)?;
        Ok(self.out.into_inner()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColumnKind, ColumnarRows};
    use serde_json::json;

    /// F28: of two columns with one name none is taken; that is an error.
    #[test]
    fn equal_names_are_refused() {
        let mut file = tempfile::tempfile().unwrap();
        let columns = ["id", "text", "text"].map(|name| Column::new(name, ColumnKind::Text));
        let mut table = TableWriter::new(file.try_clone().unwrap(), columns.into(), &[]).unwrap();
        table.push(vec![Field::from("a"), Field::from("b"), Field::from("c")]).unwrap();
        table.finish().unwrap();
        io::Seek::rewind(&mut file).unwrap();
        let error = ColumnarRows::of_parquet(Box::new(file)).err().unwrap();
        assert_eq!(error.to_string(), "two of its columns have the name `text`");
    }

    /// IO-12: every kind, with nulls, is read back as it was written.
    #[test]
    fn a_table_is_read_back() {
        let kinds = [
            ("text", ColumnKind::Text),
            ("integer", ColumnKind::Integer),
            ("small", ColumnKind::SmallInteger),
            ("double", ColumnKind::Double),
            ("bool", ColumnKind::Bool),
            ("time", ColumnKind::Time),
            ("map", ColumnKind::TextMap),
            ("list", ColumnKind::TextList),
        ];
        let columns: Vec<Column> = kinds.iter().map(|(name, kind)| Column::new(*name, *kind)).collect();
        let mut file = tempfile::tempfile().unwrap();
        let mut table = TableWriter::new(file.try_clone().unwrap(), columns, &[("karat.run", "r1")]).unwrap();
        let full = || {
            vec![
                Field::from("é"),
                Field::from(i64::MAX),
                Field::from(7_u32),
                Field::from(0.1),
                Field::from(true),
                Field::Micros(1_764_201_600_000_000),
                Field::TextMap(vec![("a".to_owned(), "b".to_owned())]),
                Field::TextList(vec!["x".to_owned(), String::new()]),
            ]
        };
        table.push(full()).unwrap();
        table.push(kinds.iter().map(|_| Field::Null).collect()).unwrap();
        for _ in 0..2 * 1024 {
            table.push(full()).unwrap();
        }
        assert!(
            matches!(table.push(vec![Field::from(1.0)]), Err(WriteError::Row(RowError::Kind(column))) if column == "text")
        );
        table.finish().unwrap();
        io::Seek::rewind(&mut file).unwrap();
        let rows: Vec<_> = ColumnarRows::of_parquet(Box::new(file))
            .unwrap()
            .map(|row| serde_json::Value::Object(row.unwrap()))
            .collect();
        assert_eq!(rows.len(), 2 + 2 * 1024);
        let first = json!({
            "text": "é", "integer": i64::MAX, "small": 7, "double": 0.1, "bool": true, "time": "2025-11-27T00:00:00Z",
            "map": {"a": "b"}, "list": ["x", ""],
        });
        assert_eq!(rows[0], first);
        assert_eq!(rows[2049], first);
        assert!(rows[1].as_object().unwrap().values().all(serde_json::Value::is_null), "{}", rows[1]);
    }
}
