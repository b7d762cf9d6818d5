//! Connections, transactions and statements.

use std::ops::Deref;

use rusqlite::TransactionBehavior;

use super::postgres::statement::ServerStatement;
use super::row::MappedRows;
use super::{Row, Rows, SqlError, SqlResult, ToValue};

/// The database behind a connection.
#[derive(Debug)]
pub(crate) enum Backend {
    Sqlite(rusqlite::Connection),
    /// A file of a version without checksums of rows, open for reading.
    OldSqlite(rusqlite::Connection),
    Postgres(super::postgres::session::Session),
}

/// A connection with a database.
#[derive(Debug)]
pub(crate) struct Connection(pub Backend);

impl From<rusqlite::Connection> for Connection {
    fn from(connection: rusqlite::Connection) -> Self {
        Self(Backend::Sqlite(connection))
    }
}

impl Connection {
    /// Returns SQLite's connection, for what only a file has.
    pub fn file(&self) -> Option<&rusqlite::Connection> {
        match &self.0 {
            Backend::Sqlite(connection) | Backend::OldSqlite(connection) => Some(connection),
            Backend::Postgres(_) => None,
        }
    }

    /// Returns the session with a server.
    pub fn server(&self) -> Option<&super::postgres::session::Session> {
        match &self.0 {
            Backend::Sqlite(_) | Backend::OldSqlite(_) => None,
            Backend::Postgres(session) => Some(session),
        }
    }

    /// Returns whether rows have checksums.
    pub fn is_sealed(&self) -> bool {
        !matches!(self.0, Backend::OldSqlite(_))
    }

    /// Returns the text for the database of this connection.
    pub fn dialect<'t>(&self, sqlite: &'t str, postgres: &'t str) -> &'t str {
        if self.file().is_some() { sqlite } else { postgres }
    }

    /// Prepares a statement, or takes it from the statements that were prepared before.
    pub fn prepare_cached(&self, text: &str) -> SqlResult<Statement<'_>> {
        Ok(match &self.0 {
            Backend::Sqlite(file) | Backend::OldSqlite(file) => Statement::Sqlite(file.prepare_cached(text)?),
            Backend::Postgres(session) => Statement::Postgres(ServerStatement::new(session, text)),
        })
    }

    /// Prepares a statement whose answer may be as long as a run. A server sends it in pages while a snapshot is open.
    pub fn prepare_long(&self, text: &str) -> SqlResult<Statement<'_>> {
        Ok(match &self.0 {
            Backend::Sqlite(file) | Backend::OldSqlite(file) => Statement::Sqlite(file.prepare_cached(text)?),
            Backend::Postgres(session) => Statement::Postgres(ServerStatement::long(session, text)),
        })
    }

    /// Executes a statement and returns the number of changed rows.
    pub fn execute(&self, text: &str, values: &[&dyn ToValue]) -> SqlResult<usize> {
        self.prepare_cached(text)?.execute(values)
    }

    /// Reads the first row of an answer.
    ///
    /// # Errors
    /// [`SqlError::NoRow`], or the statement fails.
    pub fn query_row<T>(
        &self,
        text: &str,
        values: &[&dyn ToValue],
        read: impl FnOnce(&Row<'_>) -> SqlResult<T>,
    ) -> SqlResult<T> {
        self.prepare_cached(text)?.query_row(values, read)
    }

    /// Returns whether there is a table. A file of an older version that is open for reading lacks the later ones; on a
    /// server all are there.
    pub fn has_table(&self, name: &str) -> SqlResult<bool> {
        match &self.0 {
            Backend::Sqlite(connection) | Backend::OldSqlite(connection) => Ok(connection
                .prepare_cached("select 1 from sqlite_schema where type = 'table' and name = ?1")?
                .exists([name])?),
            Backend::Postgres(_) => Ok(true),
        }
    }

    /// Starts a transaction that reads the state of one moment.
    pub fn snapshot(&self) -> SqlResult<Transaction<'_>> {
        match &self.0 {
            Backend::Sqlite(connection) | Backend::OldSqlite(connection) => {
                Ok(Transaction { ending: Some(Ending::Sqlite(connection.unchecked_transaction()?)), connection: self })
            }
            Backend::Postgres(session) => {
                session.begin_snapshot()?;
                Ok(Transaction { ending: Some(Ending::Postgres(session)), connection: self })
            }
        }
    }

    /// Starts a snapshot, unless a transaction is open: then its state is read.
    pub fn snapshot_if_none(&self) -> SqlResult<Transaction<'_>> {
        let is_open = match &self.0 {
            Backend::Sqlite(connection) | Backend::OldSqlite(connection) => !connection.is_autocommit(),
            Backend::Postgres(session) => session.is_in_transaction(),
        };
        if is_open { Ok(Transaction { ending: None, connection: self }) } else { self.snapshot() }
    }

    /// Starts a transaction that writes. Writers of all processes take turns: numbers of rows grow in the order of
    /// commits.
    pub fn begin(&self) -> SqlResult<Transaction<'_>> {
        match &self.0 {
            Backend::Sqlite(connection) | Backend::OldSqlite(connection) => {
                let transaction = rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
                Ok(Transaction { ending: Some(Ending::Sqlite(transaction)), connection: self })
            }
            Backend::Postgres(session) => {
                session.begin()?;
                Ok(Transaction { ending: Some(Ending::Postgres(session)), connection: self })
            }
        }
    }
}

/// A transaction. It is rolled back when it is dropped.
pub(crate) struct Transaction<'c> {
    ending: Option<Ending<'c>>,
    connection: &'c Connection,
}

enum Ending<'c> {
    Sqlite(rusqlite::Transaction<'c>),
    Postgres(&'c super::postgres::session::Session),
}

impl Transaction<'_> {
    /// Commits. Once it returns, the changes are on disk.
    pub fn commit(mut self) -> SqlResult<()> {
        match self.ending.take() {
            Some(Ending::Sqlite(transaction)) => Ok(transaction.commit()?),
            Some(Ending::Postgres(session)) => session.commit(),
            None => Ok(()),
        }
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if let Some(Ending::Postgres(session)) = &self.ending {
            session.roll_back();
        }
    }
}

/// A prepared statement.
pub(crate) enum Statement<'c> {
    Sqlite(rusqlite::CachedStatement<'c>),
    Postgres(ServerStatement<'c>),
}

impl Statement<'_> {
    /// Executes the statement and returns the number of changed rows.
    pub fn execute(&mut self, values: &[&dyn ToValue]) -> SqlResult<usize> {
        match self {
            Self::Sqlite(statement) => Ok(statement.execute(of_file(values))?),
            Self::Postgres(statement) => statement.execute(values),
        }
    }

    /// Reads rows.
    pub fn query(&mut self, values: &[&dyn ToValue]) -> SqlResult<Rows<'_>> {
        match self {
            Self::Sqlite(statement) => Ok(Rows::Sqlite(statement.query(of_file(values))?)),
            Self::Postgres(statement) => Ok(Rows::Postgres(statement.query(values)?)),
        }
    }

    /// Reads rows and converts each.
    pub fn query_map<T, F: FnMut(&Row<'_>) -> SqlResult<T>>(
        &mut self,
        values: &[&dyn ToValue],
        convert: F,
    ) -> SqlResult<MappedRows<'_, F>> {
        Ok(MappedRows { rows: self.query(values)?, convert })
    }

    /// Reads the first row.
    ///
    /// # Errors
    /// [`SqlError::NoRow`], or the statement fails.
    pub fn query_row<T>(
        &mut self,
        values: &[&dyn ToValue],
        read: impl FnOnce(&Row<'_>) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let mut rows = self.query(values)?;
        let row = rows.next()?.ok_or(SqlError::NoRow)?;
        read(&row)
    }

    /// Returns whether there is a row.
    pub fn exists(&mut self, values: &[&dyn ToValue]) -> SqlResult<bool> {
        Ok(self.query(values)?.next()?.is_some())
    }
}

fn of_file<'v>(values: &'v [&dyn ToValue]) -> impl rusqlite::Params + 'v {
    rusqlite::params_from_iter(values.iter().map(|value| value.to_value()))
}
