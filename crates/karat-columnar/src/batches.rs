//! Rows gathered as batches of columns.

use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, ListBuilder, MapBuilder, StringBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field as SchemaField, Fields, Schema, SchemaRef, TimeUnit};

/// Rows of a batch.
const BATCH_ROWS: usize = 1024;
/// Bytes of texts at which a batch ends early.
const BATCH_BYTES: usize = 8 << 20;

/// A row that does not fit its table.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// A value is not of its column's kind.
    #[error("the column `{0}` does not take this value")]
    Kind(String),
    /// A row does not have the table's columns.
    #[error("a row does not fit the table: {0}")]
    Arrow(#[from] ArrowError),
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

/// Gathers rows, and gives them as batches of bounded size.
pub(crate) struct Batches {
    columns: Vec<Column>,
    builders: Vec<Builder>,
    schema: SchemaRef,
    rows: usize,
    bytes: usize,
}

impl Batches {
    /// No rows of a table yet.
    pub fn new(columns: Vec<Column>) -> Self {
        let builders = columns.iter().map(|column| Builder::new(column.kind)).collect();
        Self { schema: schema(&columns), columns, builders, rows: 0, bytes: 0 }
    }

    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Adds a row: a value for each column, in order. Returns a batch if it is full.
    pub fn push(&mut self, row: Vec<Field>) -> Result<Option<RecordBatch>, RowError> {
        for ((builder, column), field) in self.builders.iter_mut().zip(&self.columns).zip(row) {
            self.bytes += builder.append(field).ok_or_else(|| RowError::Kind(column.name.clone()))?;
        }
        self.rows += 1;
        if self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES { self.take().map(Some) } else { Ok(None) }
    }

    /// The rows since the last batch, which may be none.
    pub fn take(&mut self) -> Result<RecordBatch, RowError> {
        let arrays: Vec<ArrayRef> = self.builders.iter_mut().map(Builder::finish).collect();
        (self.rows, self.bytes) = (0, 0);
        Ok(RecordBatch::try_new(self.schema.clone(), arrays)?)
    }
}

/// The schema of columns; all of them may have nulls.
pub(crate) fn schema(columns: &[Column]) -> SchemaRef {
    let field = |column: &Column| SchemaField::new(&column.name, data_type(column.kind), true);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
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
