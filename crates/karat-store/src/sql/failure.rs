//! Errors of both databases.

use std::fmt;

/// The result of a statement.
pub(crate) type SqlResult<T> = Result<T, SqlError>;

/// An error of a database, without the operation that failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum SqlError {
    /// A query that must have a row has none.
    NoRow,
    /// A column holds a value of another kind than expected.
    Column(String),
    /// A row does not match its checksum.
    Damaged {
        /// The content of the row.
        what: String,
        /// The table and the row, and what to do.
        why: String,
    },
    /// SQLite reported an error.
    Sqlite(rusqlite::Error),
    /// PostgreSQL reported an error.
    Postgres(super::postgres::failure::ServerError),
}

impl SqlError {
    /// Returns SQLite's code.
    pub(crate) fn sqlite_code(&self) -> Option<rusqlite::ErrorCode> {
        match self {
            Self::Sqlite(error) => error.sqlite_error_code(),
            _ => None,
        }
    }

    /// Returns `true` if a row broke a rule of its table, such as a name that is taken.
    pub(crate) fn is_constraint(&self) -> bool {
        match self {
            Self::Postgres(error) => error.is_constraint(),
            _ => self.sqlite_code() == Some(rusqlite::ErrorCode::ConstraintViolation),
        }
    }

    /// Returns `true` if the connection was lost, so that it is unknown whether the statement was carried out.
    pub(crate) fn is_lost_connection(&self) -> bool {
        match self {
            Self::Postgres(error) => error.is_lost_connection(),
            _ => false,
        }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRow => f.write_str("a row is missing"),
            Self::Column(why) | Self::Damaged { why, .. } => f.write_str(why),
            Self::Sqlite(error) => error.fmt(f),
            Self::Postgres(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SqlError {}

impl From<rusqlite::Error> for SqlError {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::QueryReturnedNoRows => Self::NoRow,
            error => Self::Sqlite(error),
        }
    }
}

impl From<tokio_postgres::Error> for SqlError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error.into())
    }
}

/// A row that may be missing.
pub(crate) trait OptionalExtension<T> {
    /// Returns `None` if there is no row.
    fn optional(self) -> SqlResult<Option<T>>;
}

impl<T> OptionalExtension<T> for SqlResult<T> {
    fn optional(self) -> SqlResult<Option<T>> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(SqlError::NoRow) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
