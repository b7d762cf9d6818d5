//! Early stops of runs: what a run that may stop early decided, stored once with its end.

use karat_types::{STOP_SCHEMA, StopRecord, StoredStop};

use crate::database::transaction;
use crate::error::{Attempt, Damage, ReadFailure};
use crate::format::run_lookup::find_run_number;
use crate::sql::tables::STOPS;
use crate::sql::{Connection, OptionalExtension, SqlResult, StoredRow, Transaction, params};
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
        self.write_stop(run, |transaction, id| STOPS.insert(transaction, "", params![id, 0, body])).map(|_| None)
    }

    /// Marks a stopped run as one that goes to its end. Returns `false` if the run has no stop.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn continue_to_end(&self, run: &str) -> Result<bool, StoreError> {
        let to_end = |row: &mut StoredRow| {
            row.set("to_end", &1);
            Ok(())
        };
        Ok(self.write_stop(run, |transaction, id| STOPS.change(transaction, "run = ?1", params![id], to_end))? > 0)
    }

    /// Forgets the stop of a run whose results are made again.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn forget_stop(&self, run: &str) -> Result<(), StoreError> {
        self.write_stop(run, |transaction, id| STOPS.delete(transaction, "run = ?1", params![id])).map(drop)
    }

    /// The stop of a run, if it has one.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn stop_of(&self, run: &str) -> Result<Option<StoredStop>, StoreError> {
        self.read("the stop of a run", |connection| match find_run_number(connection, run)? {
            Some(id) => stop_of_run(connection, id),
            None => Ok(None),
        })
    }

    /// Changes the stop of a run. Returns the number of rows that were changed.
    fn write_stop(
        &self,
        run: &str,
        mut write: impl FnMut(&Transaction<'_>, i64) -> SqlResult<usize>,
    ) -> Result<usize, StoreError> {
        let attempt = Attempt { path: self.path(), doing: "storing the stop of a run" };
        let connection = self.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        let id = find_run_number(&transaction, run).map_err(|failure| failure.of(attempt.path, "a run"))?;
        let written = id.map_or(Ok(0), |id| write(&transaction, id));
        written.and_then(|rows| transaction.commit().map(|()| rows)).map_err(|error| attempt.error(error))
    }
}

/// The stop of a run by its number. A store of an older version that is open for reading has none.
pub(crate) fn stop_of_run(connection: &Connection, run: i64) -> Result<Option<StoredStop>, ReadFailure> {
    if !connection.has_table("stops")? {
        return Ok(None);
    }
    let select = format!("select {} from stops where run = ?1", STOPS.select(connection, &[]));
    let found = connection.prepare_cached(&select)?.query_row(params![run], |row| {
        STOPS.check(row, &[])?;
        Ok((row.get::<bool>(1)?, row.get::<String>(2)?))
    });
    let Some((to_end, body)) = found.optional()? else { return Ok(None) };
    let record: StopRecord = serde_json::from_str(&body)
        .map_err(|error| ReadFailure::from(Damage(format!("the stop of a run cannot be read: {error}"))))?;
    if record.schema != STOP_SCHEMA {
        let schema = record.schema;
        return Err(Damage(format!("the stop of a run is in the format {schema}, which needs a newer karat")).into());
    }
    Ok(Some(StoredStop { record, to_end }))
}
