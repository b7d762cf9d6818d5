//! Early stops of runs: what a run that may stop early decided, stored once with its end.

use karat_types::{STOP_SCHEMA, StopRecord, StoredStop};

use crate::block::pack::Damage;
use crate::error::{Attempt, ReadFailure};
use crate::sql::{Connection, OptionalExtension, ToValue, params};
use crate::write::writer;
use crate::{Store, StoreError};

/// The stop of a run, of which an earlier part of the run has stored another.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherStop {
    /// The record that is stored.
    pub stored: Box<StopRecord>,
}

impl Store {
    /// Stores the stop of a run. Returns the stored one if it differs: then nothing is changed.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the store cannot be written.
    pub fn keep_stop(&self, run: &str, record: &StopRecord) -> Result<Option<OtherStop>, StoreError> {
        if let Some(known) = self.stop_of(run)? {
            return Ok((known.record != *record).then(|| OtherStop { stored: Box::new(known.record) }));
        }
        let body = serde_json::to_string(record).map_err(|error| StoreError::OutOfRange(format!("a stop: {error}")))?;
        let insert = "insert into stops (run, to_end, body) select id, 0, ?2 from runs where name = ?1";
        self.write_stop(insert, params![run, body]).map(|_| None)
    }

    /// Marks a stopped run as one that goes to its end. Returns `false` if the run has no stop.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn continue_to_end(&self, run: &str) -> Result<bool, StoreError> {
        let update = "update stops set to_end = 1 where run = (select id from runs where name = ?1)";
        Ok(self.write_stop(update, params![run])? > 0)
    }

    /// Forgets the stop of a run whose results are made again.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn forget_stop(&self, run: &str) -> Result<(), StoreError> {
        let delete = "delete from stops where run = (select id from runs where name = ?1)";
        self.write_stop(delete, params![run]).map(drop)
    }

    /// The stop of a run, if it has one.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn stop_of(&self, run: &str) -> Result<Option<StoredStop>, StoreError> {
        let select = "select to_end, body from stops where run = (select id from runs where name = ?1)";
        self.read("the stop of a run", |connection| find_stop(connection, select, params![run]))
    }

    fn write_stop(&self, statement: &str, values: &[&dyn ToValue]) -> Result<usize, StoreError> {
        let attempt = Attempt { path: self.path(), doing: "storing the stop of a run" };
        let connection = self.writing();
        let transaction = writer::begin(&connection, attempt)?;
        let written = transaction.execute(statement, values).and_then(|rows| transaction.commit().map(|()| rows));
        written.map_err(|error| attempt.error(error))
    }
}

/// The stop of a run by its number. A store of an older version that is open for reading has none.
pub(crate) fn stop_of_run(connection: &Connection, run: i64) -> Result<Option<StoredStop>, ReadFailure> {
    find_stop(connection, "select to_end, body from stops where run = ?1", params![run])
}

fn find_stop(
    connection: &Connection,
    select: &str,
    values: &[&dyn ToValue],
) -> Result<Option<StoredStop>, ReadFailure> {
    if !connection.has_table("stops")? {
        return Ok(None);
    }
    let mut statement = connection.prepare_cached(select)?;
    let found = statement.query_row(values, |row| Ok((row.get::<bool>(0)?, row.get::<String>(1)?))).optional()?;
    let Some((to_end, body)) = found else { return Ok(None) };
    let record: StopRecord = serde_json::from_str(&body)
        .map_err(|error| ReadFailure::from(Damage(format!("the stop of a run cannot be read: {error}"))))?;
    if record.schema != STOP_SCHEMA {
        let schema = record.schema;
        return Err(Damage(format!("the stop of a run is in the format {schema}, which needs a newer karat")).into());
    }
    Ok(Some(StoredStop { record, to_end }))
}
