//! Tables written as Parquet: zstd, row groups of bounded size.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, ListBuilder, MapBuilder, StringBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field as SchemaField, Fields, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

/// Maximum number of rows of a row group: what DuckDB reads as one piece.
const GROUP_ROWS: usize = 122_880;
/// Size at which a row group ends early, in bytes.
const GROUP_BYTES: usize = 64 << 20;
/// Rows that are gathered before they are encoded.
const BATCH_ROWS: usize = 1024;
/// Bytes of texts that are gathered before they are encoded.
const BATCH_BYTES: usize = 8 << 20;

/// A table that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A row does not have the table's columns.
    #[error("a row does not fit the table: {0}")]
    Arrow(#[from] ArrowError),
    /// The file cannot be encoded or written.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    /// A value is not of its column's kind.
    #[error("the column `{0}` does not take this value")]
    Kind(String),
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// UTF-8 text.
    Text,
    /// 64-bit integer.
    Integer,
    /// 32-bit integer.
    SmallInteger,
    /// 64-bit float.
    Double,
    /// True or false.
    Bool,
    /// Microseconds since 1970 in UTC.
    Time,
    /// Texts by text.
    TextMap,
    /// List of texts.
    TextList,
}

/// A column of a table. Every column may have nulls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type.
    pub kind: ColumnKind,
}

impl Column {
    /// A column of a name and kind.
    pub fn new(name: impl Into<String>, kind: ColumnKind) -> Self {
        Self { name: name.into(), kind }
    }
}

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Field {
    /// Absent.
    Null,
    /// A text.
    Text(String),
    /// An integer of either size.
    Integer(i64),
    /// A float.
    Double(f64),
    /// True or false.
    Bool(bool),
    /// Microseconds since 1970 in UTC.
    Micros(i64),
    /// Texts by text.
    TextMap(Vec<(String, String)>),
    /// List of texts.
    TextList(Vec<String>),
}

/// The field of a value, or null.
impl<T: Into<Field>> From<Option<T>> for Field {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<&str> for Field {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Field {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Field {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

impl From<i64> for Field {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<u32> for Field {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<bool> for Field {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

/// Writes a table row by row. Memory is bounded by a row group.
pub struct TableWriter<W: Write + Send> {
    columns: Vec<Column>,
    builders: Vec<Builder>,
    schema: SchemaRef,
    out: ArrowWriter<W>,
    rows: usize,
    bytes: usize,
}

impl<W: Write + Send> TableWriter<W> {
    /// Starts a table; `metadata` stands in the file's key-value metadata.
    ///
    /// # Errors
    /// The beginning cannot be written.
    pub fn new(out: W, columns: Vec<Column>, metadata: &[(&str, &str)]) -> Result<Self, WriteError> {
        let fields: Vec<SchemaField> =
            columns.iter().map(|column| SchemaField::new(&column.name, data_type(column.kind), true)).collect();
        let schema = Arc::new(Schema::new(fields));
        let metadata = metadata.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_created_by(concat!("karat ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(metadata.collect()))
            .build();
        let out = ArrowWriter::try_new(out, schema.clone(), Some(properties))?;
        let builders = columns.iter().map(|column| Builder::new(column.kind)).collect();
        Ok(Self { columns, builders, schema, out, rows: 0, bytes: 0 })
    }

    /// Adds a row: a value for each column, in order.
    ///
    /// # Errors
    /// A value that is not of its column's kind; a row group that cannot be written.
    pub fn push(&mut self, row: Vec<Field>) -> Result<(), WriteError> {
        for ((builder, column), field) in self.builders.iter_mut().zip(&self.columns).zip(row) {
            self.bytes += builder.append(field).ok_or_else(|| WriteError::Kind(column.name.clone()))?;
        }
        self.rows += 1;
        if self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES { self.encode() } else { Ok(()) }
    }

    fn encode(&mut self) -> Result<(), WriteError> {
        let arrays: Vec<ArrayRef> = self.builders.iter_mut().map(Builder::finish).collect();
        self.out.write(&RecordBatch::try_new(self.schema.clone(), arrays)?)?;
        (self.rows, self.bytes) = (0, 0);
        if self.out.in_progress_size() >= GROUP_BYTES {
            self.out.flush()?;
        }
        Ok(())
    }

    /// Ends the table and returns what it was written to.
    ///
    /// # Errors
    /// The rest cannot be written.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.encode()?;
        Ok(self.out.into_inner()?)
    }
}

/// The builder of a column's array.
enum Builder {
    Text(StringBuilder),
    Integer(Int64Builder),
    SmallInteger(Int32Builder),
    Double(Float64Builder),
    Bool(BooleanBuilder),
    Time(TimestampMicrosecondBuilder),
    TextMap(MapBuilder<StringBuilder, StringBuilder>),
    TextList(ListBuilder<StringBuilder>),
}

impl Builder {
    fn new(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Text => Self::Text(StringBuilder::new()),
            ColumnKind::Integer => Self::Integer(Int64Builder::new()),
            ColumnKind::SmallInteger => Self::SmallInteger(Int32Builder::new()),
            ColumnKind::Double => Self::Double(Float64Builder::new()),
            ColumnKind::Bool => Self::Bool(BooleanBuilder::new()),
            ColumnKind::Time => {
                Self::Time(TimestampMicrosecondBuilder::new().with_data_type(data_type(ColumnKind::Time)))
            }
            ColumnKind::TextMap => Self::TextMap(MapBuilder::new(None, StringBuilder::new(), StringBuilder::new())),
            ColumnKind::TextList => Self::TextList(ListBuilder::new(StringBuilder::new())),
        }
    }

    /// Adds a value and returns its size in bytes; `None` if it is of another kind.
    fn append(&mut self, field: Field) -> Option<usize> {
        match (self, field) {
            (Self::Text(to), Field::Text(text)) => {
                to.append_value(&text);
                return Some(text.len());
            }
            (Self::Text(to), Field::Null) => to.append_null(),
            (Self::Integer(to), Field::Integer(value)) => to.append_value(value),
            (Self::Integer(to), Field::Null) => to.append_null(),
            (Self::SmallInteger(to), Field::Integer(value)) => to.append_value(i32::try_from(value).ok()?),
            (Self::SmallInteger(to), Field::Null) => to.append_null(),
            (Self::Double(to), Field::Double(value)) => to.append_value(value),
            (Self::Double(to), Field::Null) => to.append_null(),
            (Self::Bool(to), Field::Bool(value)) => to.append_value(value),
            (Self::Bool(to), Field::Null) => to.append_null(),
            (Self::Time(to), Field::Micros(value)) => to.append_value(value),
            (Self::Time(to), Field::Null) => to.append_null(),
            (Self::TextMap(to), Field::TextMap(members)) => {
                let size = members.iter().map(|(key, value)| key.len() + value.len()).sum();
                for (key, value) in members {
                    to.keys().append_value(key);
                    to.values().append_value(value);
                }
                to.append(true).ok()?;
                return Some(size);
            }
            (Self::TextMap(to), Field::Null) => to.append(false).ok()?,
            (Self::TextList(to), Field::TextList(texts)) => {
                let size = texts.iter().map(String::len).sum();
                texts.into_iter().for_each(|text| to.values().append_value(text));
                to.append(true);
                return Some(size);
            }
            (Self::TextList(to), Field::Null) => to.append(false),
            _ => return None,
        }
        Some(size_of::<u64>())
    }

    fn finish(&mut self) -> ArrayRef {
        let builder: &mut dyn ArrayBuilder = match self {
            Self::Text(it) => it,
            Self::Integer(it) => it,
            Self::SmallInteger(it) => it,
            Self::Double(it) => it,
            Self::Bool(it) => it,
            Self::Time(it) => it,
            Self::TextMap(it) => it,
            Self::TextList(it) => it,
        };
        builder.finish()
    }
}

fn data_type(kind: ColumnKind) -> DataType {
    match kind {
        ColumnKind::Text => DataType::Utf8,
        ColumnKind::Integer => DataType::Int64,
        ColumnKind::SmallInteger => DataType::Int32,
        ColumnKind::Double => DataType::Float64,
        ColumnKind::Bool => DataType::Boolean,
        ColumnKind::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        ColumnKind::TextMap => {
            let fields = Fields::from(vec![
                SchemaField::new("key", DataType::Utf8, false),
                SchemaField::new("value", DataType::Utf8, true),
            ]);
            DataType::Map(Arc::new(SchemaField::new("entries", DataType::Struct(fields), false)), false)
        }
        ColumnKind::TextList => DataType::List(Arc::new(SchemaField::new("item", DataType::Utf8, true))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ColumnarRows;
    use serde_json::json;

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
        for _ in 0..2 * BATCH_ROWS {
            table.push(full()).unwrap();
        }
        assert!(matches!(table.push(vec![Field::from(1.0)]), Err(WriteError::Kind(column)) if column == "text"));
        table.finish().unwrap();
        io::Seek::rewind(&mut file).unwrap();
        let rows: Vec<_> = ColumnarRows::of_parquet(Box::new(file))
            .unwrap()
            .map(|row| serde_json::Value::Object(row.unwrap()))
            .collect();
        assert_eq!(rows.len(), 2 + 2 * BATCH_ROWS);
        let first = json!({
            "text": "é", "integer": i64::MAX, "small": 7, "double": 0.1, "bool": true, "time": "2025-11-27T00:00:00Z",
            "map": {"a": "b"}, "list": ["x", ""],
        });
        assert_eq!(rows[0], first);
        assert_eq!(rows[2049], first);
        assert!(rows[1].as_object().unwrap().values().all(serde_json::Value::is_null), "{}", rows[1]);
    }
}
