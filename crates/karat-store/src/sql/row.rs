//! Rows of an answer.

use rusqlite::types::ValueRef;

use super::value::{Column, convert};
use super::{SqlError, SqlResult, Value};

/// One row of an answer.
#[derive(Clone, Copy)]
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r tokio_postgres::Row),
}

impl<'r> Row<'r> {
    /// Returns a column, counted from 0.
    pub fn get<T: Column>(&self, column: usize) -> SqlResult<T> {
        convert(self.value(column)?, column)
    }

    /// Returns the bytes of a column.
    pub fn blob(&self, column: usize) -> SqlResult<&'r [u8]> {
        match self.value(column)? {
            Value::Blob(bytes) => Ok(bytes),
            _ => Err(SqlError::Column(format!("column {column} holds no bytes"))),
        }
    }

    /// Returns the value of a column.
    pub fn value(&self, column: usize) -> SqlResult<Value<'r>> {
        match self {
            Self::Sqlite(row) => match row.get_ref(column)? {
                ValueRef::Null => Ok(Value::Null),
                ValueRef::Integer(number) => Ok(Value::Integer(number)),
                ValueRef::Text(text) => std::str::from_utf8(text)
                    .map(Value::Text)
                    .map_err(|_| SqlError::Column(format!("column {column} is not UTF-8"))),
                ValueRef::Blob(bytes) => Ok(Value::Blob(bytes)),
                ValueRef::Real(_) => Err(SqlError::Column(format!("column {column} holds a fraction"))),
            },
            Self::Postgres(row) => super::postgres::wire::column(row, column),
        }
    }
}

/// The rows of an answer, one after the other.
pub(crate) enum Rows<'s> {
    Sqlite(rusqlite::Rows<'s>),
    Postgres(super::postgres::statement::ServerRows<'s>),
}

impl Rows<'_> {
    /// Advances to the next row.
    pub fn next(&mut self) -> SqlResult<Option<Row<'_>>> {
        match self {
            Self::Sqlite(rows) => Ok(rows.next()?.map(Row::Sqlite)),
            Self::Postgres(rows) => Ok(rows.next()?.map(Row::Postgres)),
        }
    }
}

/// Rows that are converted while they are read.
pub(crate) struct MappedRows<'s, F> {
    pub(super) rows: Rows<'s>,
    pub(super) convert: F,
}

impl<T, F: FnMut(&Row<'_>) -> SqlResult<T>> Iterator for MappedRows<'_, F> {
    type Item = SqlResult<T>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.rows.next() {
            Ok(None) => None,
            Ok(Some(row)) => Some((self.convert)(&row)),
            Err(error) => Some(Err(error)),
        }
    }
}
