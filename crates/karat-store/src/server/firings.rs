//! Due times of schedules, and pauses.

use karat_types::Moment;

use crate::database::transaction;
use crate::error::{Attempt, ReadFailure};
use crate::sql::tables::{FIRINGS, SCHEDULES};
use crate::sql::{Connection, OptionalExtension, Row, SqlResult, StoredRow, Transaction, params};
use crate::{Store, StoreError};

/// A due time of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFiring {
    /// The id of its run: unique.
    pub run: String,
    /// Name of the suite.
    pub suite: String,
    /// Id of the schedule.
    pub schedule: String,
    /// The due time.
    pub due: Moment,
    /// `fired`, `done` once its alerts are stored, `failed` if its run could not start, or `skipped`.
    pub state: String,
    /// Reason of a skip or failure.
    pub note: String,
    /// Time at which it was stored.
    pub at: Moment,
}

impl Store {
    /// Stores a due time. Returns `false` if it was stored before, by any process: then it must not run again.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn add_firing(&self, firing: &StoredFiring) -> Result<bool, StoreError> {
        let StoredFiring { run, suite, schedule, due, state, note, at } = firing;
        let values = params![run, suite, schedule, due.0, state, note, at.0];
        let insert = |transaction: &Transaction<'_>| FIRINGS.insert(transaction, "on conflict do nothing", values);
        Ok(self.write_service("storing a due time", insert)? > 0)
    }

    /// Changes the state of a due time.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn set_firing(&self, run: &str, state: &str, note: &str) -> Result<(), StoreError> {
        let set = |row: &mut StoredRow| {
            row.set("state", &state);
            row.set("note", &note);
            Ok(())
        };
        let change = |transaction: &Transaction<'_>| FIRINGS.change(transaction, "run = ?1", params![run], set);
        self.write_service("storing a due time", change).map(drop)
    }

    /// A due time by the id of its run.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn firing(&self, run: &str) -> Result<Option<StoredFiring>, StoreError> {
        self.read("the schedules", |connection| {
            let select = format!("select {} from firings where run = ?1", FIRINGS.select(connection, &[]));
            Ok(connection.query_row(&select, params![run], read_firing).optional()?)
        })
    }

    /// The last due times of a suite, or of one of its schedules, latest first.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn firings(&self, suite: &str, schedule: Option<&str>, limit: usize) -> Result<Vec<StoredFiring>, StoreError> {
        self.read("the schedules", |connection| {
            if !has_table(connection)? {
                return Ok(Vec::new());
            }
            let select = format!(
                "select {} from firings where suite = ?1 and (cast(?2 as text) is null or schedule = ?2) \
                 order by due desc, run limit ?3",
                FIRINGS.select(connection, &[])
            );
            let mut statement = connection.prepare_cached(&select)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![suite, schedule, limit], read_firing)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// The due times of a schedule that were claimed and have not ended, latest first.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn open_firings(&self, suite: &str, schedule: &str, limit: usize) -> Result<Vec<StoredFiring>, StoreError> {
        self.read("the schedules", |connection| {
            if !has_table(connection)? {
                return Ok(Vec::new());
            }
            let select = format!(
                "select {} from firings where suite = ?1 and schedule = ?2 and state = 'fired' \
                 order by due desc limit ?3",
                FIRINGS.select(connection, &[])
            );
            let mut statement = connection.prepare_cached(&select)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![suite, schedule, limit], read_firing)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Pauses a schedule since a time, or resumes it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn set_paused(&self, suite: &str, schedule: &str, since: Option<Moment>) -> Result<(), StoreError> {
        let pause = |row: &mut StoredRow| {
            row.set("paused_at", &since.map(|since| since.0));
            Ok(())
        };
        self.write_service("pausing a schedule", |it| change_schedule(it, (suite, schedule), pause)).map(drop)
    }

    /// The time from which a schedule is followed: due times up to it are not made up for. The first caller sets it.
    ///
    /// # Errors
    /// The store cannot be written or read.
    pub fn followed_since(&self, suite: &str, schedule: &str, now: Moment) -> Result<Moment, StoreError> {
        let mut since = now;
        let follow = |row: &mut StoredRow| {
            match row.get::<Option<i64>>("followed_since")? {
                Some(before) => since = Moment(before),
                None => row.set("followed_since", &now.0),
            }
            Ok(())
        };
        self.write_service("following a schedule", |it| change_schedule(it, (suite, schedule), follow))?;
        Ok(since)
    }

    /// The time from which a schedule is followed, if it ever was.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn known_since(&self, suite: &str, schedule: &str) -> Result<Option<Moment>, StoreError> {
        Ok(self.schedule_times(suite, schedule)?.0)
    }

    /// The times since which a schedule is followed, and is paused.
    fn schedule_times(&self, suite: &str, schedule: &str) -> Result<(Option<Moment>, Option<Moment>), StoreError> {
        self.read("the schedules", |connection| {
            if !has_table(connection)? {
                return Ok((None, None));
            }
            let columns = SCHEDULES.select(connection, &[]);
            let select = format!("select {columns} from schedules where suite = ?1 and schedule = ?2");
            let times = connection.query_row(&select, params![suite, schedule], |row| {
                SCHEDULES.check(row, &[])?;
                Ok((row.get::<Option<i64>>(2)?.map(Moment), row.get::<Option<i64>>(3)?.map(Moment)))
            });
            Ok(times.optional()?.unwrap_or_default())
        })
    }

    /// The number of due times of a schedule in a state.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn count_firings(&self, suite: &str, schedule: &str, state: &str) -> Result<u64, StoreError> {
        self.read("the schedules", |connection| {
            if !has_table(connection)? {
                return Ok(0);
            }
            let select = "select count(*) from firings where suite = ?1 and schedule = ?2 and state = ?3";
            let count: i64 = connection.query_row(select, params![suite, schedule, state], |row| row.get(0))?;
            Ok(u64::try_from(count).unwrap_or(0))
        })
    }

    /// The last due time of a schedule that ran to its end.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn last_done(&self, suite: &str, schedule: &str) -> Result<Option<StoredFiring>, StoreError> {
        self.read("the schedules", |connection| {
            if !has_table(connection)? {
                return Ok(None);
            }
            let select = format!(
                "select {} from firings where suite = ?1 and schedule = ?2 and state = 'done' order by due desc limit 1",
                FIRINGS.select(connection, &[])
            );
            Ok(connection.query_row(&select, params![suite, schedule], read_firing).optional()?)
        })
    }

    /// The time since which a schedule is paused.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn paused_since(&self, suite: &str, schedule: &str) -> Result<Option<Moment>, StoreError> {
        Ok(self.schedule_times(suite, schedule)?.1)
    }

    pub(super) fn write_service(
        &self,
        doing: &'static str,
        write: impl FnOnce(&Transaction<'_>) -> SqlResult<usize>,
    ) -> Result<usize, StoreError> {
        let attempt = Attempt { path: self.path(), doing };
        let connection = self.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        let written = write(&transaction).and_then(|rows| transaction.commit().map(|()| rows));
        written.map_err(|error| attempt.error(error))
    }
}

/// Changes the row of a schedule, and makes one if there is none.
fn change_schedule(
    transaction: &Transaction<'_>,
    (suite, schedule): (&str, &str),
    change: impl FnMut(&mut StoredRow) -> SqlResult<()>,
) -> SqlResult<usize> {
    let none = None::<i64>;
    SCHEDULES.insert(transaction, "on conflict do nothing", params![suite, schedule, none, none])?;
    SCHEDULES.change(transaction, "suite = ?1 and schedule = ?2", params![suite, schedule], change)
}

/// Returns whether the file has the tables. An older file that is read-only has none.
pub(super) fn has_table(connection: &Connection) -> Result<bool, ReadFailure> {
    Ok(connection.has_table("firings")?)
}

fn read_firing(row: &Row<'_>) -> SqlResult<StoredFiring> {
    FIRINGS.check(row, &[])?;
    Ok(StoredFiring {
        run: row.get(0)?,
        suite: row.get(1)?,
        schedule: row.get(2)?,
        due: Moment(row.get(3)?),
        state: row.get(4)?,
        note: row.get(5)?,
        at: Moment(row.get(6)?),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::tests::test_data::url_in;

    fn firing(due: i64) -> StoredFiring {
        StoredFiring {
            run: format!("support-nightly-{due}"),
            suite: "support".to_owned(),
            schedule: "nightly".to_owned(),
            due: Moment(due),
            state: "fired".to_owned(),
            note: String::new(),
            at: Moment(due + 1),
        }
    }

    /// SV-13: a due time is stored once, also through a second connection; the latest comes first.
    #[test]
    pub(crate) fn a_due_time_is_stored_once() {
        let folder = tempfile::tempdir().unwrap();
        let url = url_in(folder.path());
        let (one, two) = (Store::open(&url).unwrap(), Store::open(&url).unwrap());
        assert!(one.add_firing(&firing(1)).unwrap());
        assert!(!two.add_firing(&firing(1)).unwrap());
        assert!(two.add_firing(&firing(2)).unwrap());
        one.set_firing("support-nightly-1", "skipped", "busy").unwrap();
        let skipped = StoredFiring { state: "skipped".to_owned(), note: "busy".to_owned(), ..firing(1) };
        assert_eq!(two.firings("support", Some("nightly"), 9).unwrap(), [firing(2), skipped]);
        assert_eq!(two.firings("support", Some("other"), 9).unwrap(), []);
        assert_eq!(two.firings("support", None, 1).unwrap(), [firing(2)]);
    }

    #[test]
    pub(crate) fn a_schedule_is_paused_and_followed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&url_in(folder.path())).unwrap();
        assert_eq!(store.paused_since("s", "n").unwrap(), None);
        store.set_paused("s", "n", Some(Moment(5))).unwrap();
        assert_eq!(store.paused_since("s", "n").unwrap(), Some(Moment(5)));
        assert_eq!(store.followed_since("s", "n", Moment(7)).unwrap(), Moment(7));
        assert_eq!(store.followed_since("s", "n", Moment(9)).unwrap(), Moment(7));
        store.set_paused("s", "n", None).unwrap();
        assert_eq!(store.paused_since("s", "n").unwrap(), None);
    }
}
