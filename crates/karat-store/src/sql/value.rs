//! Values of parameters and columns.

use rusqlite::types::{ToSqlOutput, ValueRef};

use super::{SqlError, SqlResult};

/// A value of a parameter or a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value<'a> {
    Null,
    Integer(i64),
    Text(&'a str),
    Blob(&'a [u8]),
}

/// A parameter of a statement.
pub(crate) trait ToValue {
    fn to_value(&self) -> Value<'_>;
}

impl ToValue for Value<'_> {
    fn to_value(&self) -> Value<'_> {
        *self
    }
}

/// A type that a column can be read as.
pub(crate) trait Column: Sized {
    /// Converts a value; `None` if it is of another kind or out of range.
    fn of(value: Value<'_>) -> Option<Self>;
}

/// Makes the parameters of a statement.
macro_rules! params {
    () => { &[] as &[&dyn $crate::sql::ToValue] };
    ($($value:expr),+ $(,)?) => { &[$(&$value as &dyn $crate::sql::ToValue),+] as &[&dyn $crate::sql::ToValue] };
}
pub(crate) use params;

/// Converts the value of a column.
pub(super) fn convert<T: Column>(value: Value<'_>, column: usize) -> SqlResult<T> {
    T::of(value).ok_or_else(|| {
        let kind = match value {
            Value::Null => "nothing",
            Value::Integer(_) => "a number that does not fit",
            Value::Text(_) => "a text",
            Value::Blob(_) => "bytes of another length",
        };
        SqlError::Column(format!("column {column} holds {kind}"))
    })
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

macro_rules! integers {
    ($($kind:ty),*) => { $(
        impl ToValue for $kind {
            fn to_value(&self) -> Value<'_> {
                Value::Integer(i64::from(*self))
            }
        }

        impl Column for $kind {
            fn of(value: Value<'_>) -> Option<Self> {
                match value {
                    Value::Integer(number) => Self::try_from(number).ok(),
                    _ => None,
                }
            }
        }
    )* };
}
integers!(i64, i32, u32, u16, u8);

impl ToValue for bool {
    fn to_value(&self) -> Value<'_> {
        Value::Integer(i64::from(*self))
    }
}

impl Column for bool {
    fn of(value: Value<'_>) -> Option<Self> {
        i64::of(value).map(|number| number != 0)
    }
}

impl ToValue for str {
    fn to_value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl ToValue for String {
    fn to_value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl Column for String {
    fn of(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.to_owned()),
            _ => None,
        }
    }
}

impl ToValue for [u8] {
    fn to_value(&self) -> Value<'_> {
        Value::Blob(self)
    }
}

impl ToValue for Vec<u8> {
    fn to_value(&self) -> Value<'_> {
        Value::Blob(self)
    }
}

impl Column for Vec<u8> {
    fn of(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Blob(bytes) => Some(bytes.to_owned()),
            _ => None,
        }
    }
}

impl<const N: usize> ToValue for [u8; N] {
    fn to_value(&self) -> Value<'_> {
        Value::Blob(self)
    }
}

impl<const N: usize> Column for [u8; N] {
    fn of(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Blob(bytes) => bytes.try_into().ok(),
            _ => None,
        }
    }
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value<'_> {
        (**self).to_value()
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, ToValue::to_value)
    }
}

impl<T: Column> Column for Option<T> {
    fn of(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::of(value).map(Some),
        }
    }
}
