//! One transaction on a task: what was read in it is still true when its events are added.

use karat_types::Moment;

use super::tasks::{AnnotationEvent, read_events};
use crate::database::transaction;
use crate::error::Attempt;
use crate::sql::tables::{DRAFTS, EVENTS, LEASES, TASKS};
use crate::sql::{OptionalExtension, Row, SqlResult, Transaction, params};
use crate::{Store, StoreError};

const OF_PERSON: &str = "task = ?1 and item = ?2 and person = ?3";

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
        let transaction = transaction::begin(&connection, attempt)?;
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
        let item = item.map(|item| item as i64);
        self.write(|transaction| {
            let seq = EVENTS.next_number(transaction)?;
            EVENTS.insert(transaction, "", params![seq, self.task, item, person, kind, body, at.0])?;
            TASKS.change(transaction, "id = ?1", params![self.task], |task| {
                let events = task.get::<i64>("events")? + 1;
                task.set("events", &events);
                Ok(())
            })
        })
    }

    /// All leases with the times at which they expire, expired ones too.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn leases(&self) -> Result<Vec<(u64, String, Moment)>, StoreError> {
        let read = || -> SqlResult<Vec<_>> {
            let columns = LEASES.select(self.transaction, &[]);
            let select = format!("select {columns} from annotation_leases where task = ?1 order by item, person");
            let mut statement = self.transaction.prepare_cached(&select)?;
            let rows = statement.query_map(params![self.task], |row| {
                LEASES.check(row, &[])?;
                Ok((row.get::<i64>(1)?.unsigned_abs(), row.get(2)?, Moment(row.get(3)?)))
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
        let replace = "on conflict (task, item, person) do update set expires_at = excluded.expires_at, \
                       sum = excluded.sum";
        let values = params![self.task, item as i64, person, expires_at.0];
        self.write(|transaction| LEASES.insert(transaction, replace, values))
    }

    /// The draft of a person on an item.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn draft(&self, item: u64, person: &str) -> Result<Option<String>, StoreError> {
        let read = || {
            let columns = DRAFTS.select(self.transaction, &[]);
            let select = format!("select {columns} from annotation_drafts where {OF_PERSON}");
            let draft = |row: &Row<'_>| {
                DRAFTS.check(row, &[])?;
                row.get(3)
            };
            self.transaction
                .prepare_cached(&select)?
                .query_row(params![self.task, item as i64, person], draft)
                .optional()
        };
        read().map_err(|error| self.attempt.error(error))
    }

    /// Replaces the draft of a person on an item; none removes it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn set_draft(&self, item: u64, person: &str, body: Option<&str>, at: Moment) -> Result<(), StoreError> {
        let item = item as i64;
        let replace = "on conflict (task, item, person) do update set body = excluded.body, at = excluded.at, \
                       sum = excluded.sum";
        self.write(|transaction| match body {
            Some(body) => DRAFTS.insert(transaction, replace, params![self.task, item, person, body, at.0]),
            None => DRAFTS.delete(transaction, OF_PERSON, params![self.task, item, person]),
        })
    }

    fn write(&self, write: impl FnOnce(&Transaction<'_>) -> SqlResult<usize>) -> Result<(), StoreError> {
        write(self.transaction).map(drop).map_err(|error| self.attempt.error(error))
    }
}
