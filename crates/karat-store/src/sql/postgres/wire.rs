//! Values on the wire.

use std::error::Error;

use bytes::{BufMut, BytesMut};
use tokio_postgres::Row;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::super::{SqlError, SqlResult, Value};

/// A parameter. Whole numbers take the width that the statement expects.
#[derive(Debug)]
pub(super) struct Parameter<'a>(pub Value<'a>);

impl Parameter<'_> {
    /// The type of the value on a server, where no statement names one.
    pub fn kind(&self) -> Type {
        match self.0 {
            Value::Null => Type::UNKNOWN,
            Value::Integer(_) => Type::INT8,
            Value::Text(_) => Type::TEXT,
            Value::Blob(_) => Type::BYTEA,
        }
    }
}

impl ToSql for Parameter<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match (self.0, kind) {
            (Value::Null, _) => return Ok(IsNull::Yes),
            (Value::Integer(number), &Type::INT8) => out.put_i64(number),
            (Value::Integer(number), &Type::INT4) => out.put_i32(number.try_into()?),
            (Value::Integer(number), &Type::INT2) => out.put_i16(number.try_into()?),
            (Value::Text(text), &Type::TEXT | &Type::VARCHAR | &Type::NAME | &Type::UNKNOWN) => {
                // No column of text can hold it, and SQLite would keep it.
                if text.contains('\0') {
                    return Err("the server cannot store a text with a zero byte".into());
                }
                out.put_slice(text.as_bytes());
            }
            (Value::Blob(bytes), &Type::BYTEA) => out.put_slice(bytes),
            (value, kind) => return Err(format!("{value:?} is no {kind}").into()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Returns a column of a row.
pub(in super::super) fn column(row: &Row, column: usize) -> SqlResult<Value<'_>> {
    let Some(kind) = row.columns().get(column).map(|column| column.type_()) else {
        return Err(SqlError::Column(format!("there is no column {column}")));
    };
    let value = match *kind {
        Type::INT8 => row.try_get::<_, Option<i64>>(column)?.map(Value::Integer),
        Type::INT4 => row.try_get::<_, Option<i32>>(column)?.map(|number| Value::Integer(number.into())),
        Type::INT2 => row.try_get::<_, Option<i16>>(column)?.map(|number| Value::Integer(number.into())),
        Type::BOOL => row.try_get::<_, Option<bool>>(column)?.map(|is| Value::Integer(is.into())),
        Type::TEXT | Type::VARCHAR | Type::NAME => row.try_get::<_, Option<&str>>(column)?.map(Value::Text),
        Type::BYTEA => row.try_get::<_, Option<&[u8]>>(column)?.map(Value::Blob),
        ref other => return Err(SqlError::Column(format!("column {column} has the unexpected type {other}"))),
    };
    Ok(value.unwrap_or(Value::Null))
}
