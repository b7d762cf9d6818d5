//! One transaction on a task: what was read in it is still true when its events are added.

use karat_types::Moment;

use super::tasks::{AnnotationEvent, read_events};
use crate::error::Attempt;
use crate::sql::{OptionalExtension, SqlResult, ToValue, Transaction, params};
use crate::write::writer;
use crate::{Store, StoreError};

/// A transaction on a task. Other processes and threads wait for its end.
pub struct AnnotationChange<'c> {
    transaction: &'c Transaction<'c>,
    attempt: Attempt<'c>,
    task: i64,
}

impl Store {
    /// Changes a task in one transaction. Nothing is written if `change` fails.
    ///
    /// # Errors
    /// Those of `change`; the store cannot be written.
    pub fn change_annotations<T, E: From<StoreError>>(
        &self,
        task: i64,
        change: impl FnOnce(&AnnotationChange<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let attempt = Attempt { path: self.path(), doing: "writing labels" };
        let connection = self.writing();
        let transaction = writer::begin(&connection, attempt)?;
        let changed = change(&AnnotationChange { transaction: &transaction, attempt, task })?;
        transaction.commit().map_err(|error| attempt.error(error))?;
        Ok(changed)
    }
}

impl AnnotationChange<'_> {
    /// The events behind a number, in order.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn events(&self, after: i64) -> Result<Vec<AnnotationEvent>, StoreError> {
        read_events(self.transaction, self.task, after).map_err(|error| self.attempt.error(error))
    }

    /// Adds an event.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn add_event(
        &self,
        item: Option<u64>,
        person: &str,
        kind: &str,
        body: &str,
        at: Moment,
    ) -> Result<(), StoreError> {
        let insert =
            "insert into annotation_events (task, item, person, kind, body, at) values (?1, ?2, ?3, ?4, ?5, ?6)";
        let item = item.map(|item| item as i64);
        self.execute(insert, params![self.task, item, person, kind, body, at.0])
    }

    /// All leases with the times at which they expire, expired ones too.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn leases(&self) -> Result<Vec<(u64, String, Moment)>, StoreError> {
        let read = || -> SqlResult<Vec<_>> {
            let select = "select item, person, expires_at from annotation_leases where task = ?1 order by item, person";
            let mut statement = self.transaction.prepare_cached(select)?;
            let rows = statement.query_map(params![self.task], |row| {
                Ok((row.get::<i64>(0)?.unsigned_abs(), row.get(1)?, Moment(row.get(2)?)))
            })?;
            rows.collect()
        };
        read().map_err(|error| self.attempt.error(error))
    }

    /// Sets the time at which the lease of a person on an item expires.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn set_lease(&self, item: u64, person: &str, expires_at: Moment) -> Result<(), StoreError> {
        let upsert = "insert into annotation_leases (task, item, person, expires_at) values (?1, ?2, ?3, ?4) \
                      on conflict (task, item, person) do update set expires_at = excluded.expires_at";
        self.execute(upsert, params![self.task, item as i64, person, expires_at.0])
    }

    /// The draft of a person on an item.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn draft(&self, item: u64, person: &str) -> Result<Option<String>, StoreError> {
        let select = "select body from annotation_drafts where task = ?1 and item = ?2 and person = ?3";
        let read = || {
            let mut statement = self.transaction.prepare_cached(select)?;
            statement.query_row(params![self.task, item as i64, person], |row| row.get(0)).optional()
        };
        read().map_err(|error| self.attempt.error(error))
    }

    /// Replaces the draft of a person on an item; none removes it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn set_draft(&self, item: u64, person: &str, body: Option<&str>, at: Moment) -> Result<(), StoreError> {
        let item = item as i64;
        match body {
            Some(body) => {
                let upsert = "insert into annotation_drafts (task, item, person, body, at) values (?1, ?2, ?3, ?4, ?5) \
                              on conflict (task, item, person) do update set body = excluded.body, at = excluded.at";
                self.execute(upsert, params![self.task, item, person, body, at.0])
            }
            None => {
                let delete = "delete from annotation_drafts where task = ?1 and item = ?2 and person = ?3";
                self.execute(delete, params![self.task, item, person])
            }
        }
    }

    fn execute(&self, statement: &str, values: &[&dyn ToValue]) -> Result<(), StoreError> {
        let execute = || self.transaction.prepare_cached(statement)?.execute(values);
        execute().map(drop).map_err(|error| self.attempt.error(error))
    }
}
