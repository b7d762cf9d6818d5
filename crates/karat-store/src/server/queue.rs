//! The queue of the server: runs that it was asked for. A row stays after its run has ended: it says what only the server
//! knows, such as that a run was cancelled, or failed before its first cell.

use karat_types::Moment;

use crate::database::transaction;
use crate::error::Attempt;
use crate::server::answers::{KeptAnswer, add_answer, find_answer};
use crate::sql::tables::QUEUE;
use crate::sql::{Connection, OptionalExtension, Row, SqlError, SqlResult, StoredRow, params};
use crate::{Store, StoreError};

/// The state of a run in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueState {
    /// It waits for its turn.
    Waiting,
    /// A server runs it, or was killed while it did.
    Started,
    /// Nothing is left to do.
    Ended,
}

/// A run that a server was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedRun {
    /// A number that orders the queue.
    pub seq: i64,
    /// Id of the run.
    pub run: String,
    /// The order, in the application's own format.
    pub order: String,
    /// Its state.
    pub state: QueueState,
    /// The server that started it.
    pub owner: Option<String>,
    /// Crashes in a row without a new row of the run.
    pub crashes: u32,
    /// The end that the rows of the run do not say: `failed`, `cancelled` or `interrupted`.
    pub status: Option<String>,
    /// The failure that ended it.
    pub problem: Option<String>,
    /// Time at which it was asked for.
    pub created_at: Moment,
    /// Time at which it was started last.
    pub started_at: Option<Moment>,
    /// Time at which it ended.
    pub ended_at: Option<Moment>,
}

/// A run that is asked for.
#[derive(Debug, Clone)]
pub struct NewQueuedRun<'a> {
    /// Id of the run.
    pub run: &'a str,
    /// The order, in the application's own format.
    pub order: &'a str,
    /// False if a stored run is continued.
    pub is_new: bool,
    /// Time at which it is asked for.
    pub at: Moment,
    /// Runs that may wait.
    pub most_waiting: u32,
}

/// The outcome of a request for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Queueing {
    /// The run is in the queue, and the answer is kept.
    Added,
    /// An earlier request had the same key.
    Answered(KeptAnswer),
    /// The id of a new run is taken.
    Taken,
    /// The run waits or is running.
    Busy,
    /// Too many runs wait.
    Full,
}

impl Store {
    /// Puts a run into the queue and keeps the answer to its request, in one commit.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn enqueue(&self, new: &NewQueuedRun<'_>, answer: Option<&KeptAnswer>) -> Result<Queueing, StoreError> {
        let attempt = Attempt { path: self.path(), doing: "queueing a run" };
        let connection = self.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        let outcome = add(&transaction, new, answer).map_err(|error| attempt.error(error))?;
        transaction.commit().map_err(|error| attempt.error(error))?;
        Ok(outcome)
    }

    /// Returns the row of a run in the queue.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn queued_run(&self, run: &str) -> Result<Option<QueuedRun>, StoreError> {
        self.read("the queue", |connection| Ok(find(connection, run)?))
    }

    /// Returns the ids in the queue that begin with a text, newest first, at most two.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn queued_ids(&self, beginning: &str) -> Result<Vec<String>, StoreError> {
        self.read("the queue", |connection| {
            let select = "select run from queue where substr(run, 1, length(?1)) = ?1 order by seq desc limit 2";
            let mut statement = connection.prepare_cached(select)?;
            let ids = statement.query_map(params![beginning], |row| row.get(0))?;
            Ok(ids.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the number of runs that wait, and of runs that were started and have not ended.
    ///
    /// # Errors
    /// They cannot be counted.
    pub fn queue_depth(&self) -> Result<(u64, u64), StoreError> {
        self.read("the queue", |connection| {
            let select = "select count(*) filter (where state = 0), count(*) filter (where state = 1) from queue where state < 2";
            let mut statement = connection.prepare_cached(select)?;
            Ok(statement.query_row(params![], |row| Ok((row.get::<i64>(0)? as u64, row.get::<i64>(1)? as u64)))?)
        })
    }

    /// Takes the run that has waited longest, and marks it as started by this server.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn take_queued(&self, owner: &str, now: Moment) -> Result<Option<QueuedRun>, StoreError> {
        let is_empty = self.queue_depth()?.0 == 0;
        if is_empty {
            return Ok(None);
        }
        self.change_queue(|connection| {
            let mut taken = None;
            QUEUE.change(connection, "seq = (select min(seq) from queue where state = 0)", params![], |row| {
                let run: String = row.get("run")?;
                row.set("state", &1);
                row.set("owner", &owner);
                row.set("started_at", &now.0);
                row.set("rows", &rows_of(connection, &run)?);
                taken = Some(run);
                Ok(())
            })?;
            match taken {
                Some(run) => find(connection, &run),
                None => Ok(None),
            }
        })
    }

    /// Ends a run. `status` is the end that its rows do not say.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn end_queued(
        &self,
        run: &str,
        status: Option<&str>,
        problem: Option<&str>,
        now: Moment,
    ) -> Result<(), StoreError> {
        let end = |row: &mut StoredRow| {
            row.set("state", &2);
            row.set("status", &status);
            row.set("problem", &problem);
            row.set("ended_at", &now.0);
            Ok(())
        };
        self.change_queue(|connection| QUEUE.change(connection, "run = ?1", params![run], end)).map(drop)
    }

    /// Puts a started run back into the queue: a server that stops in order leaves it for the next start.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn park_queued(&self, run: &str) -> Result<(), StoreError> {
        let park = |row: &mut StoredRow| {
            row.set("state", &0);
            row.set("owner", &None::<&str>);
            row.set("crashes", &0);
            Ok(())
        };
        self.change_queue(|connection| QUEUE.change(connection, "run = ?1 and state = 1", params![run], park)).map(drop)
    }

    /// Cancels a run that waits. Returns `false` if it does not wait.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn cancel_queued(&self, run: &str, now: Moment) -> Result<bool, StoreError> {
        let cancel = |row: &mut StoredRow| {
            row.set("state", &2);
            row.set("status", &"cancelled");
            row.set("ended_at", &now.0);
            Ok(())
        };
        let waiting = "run = ?1 and state = 0";
        Ok(self.change_queue(|connection| QUEUE.change(connection, waiting, params![run], cancel))? > 0)
    }

    pub(super) fn change_queue<T>(&self, change: impl FnOnce(&Connection) -> SqlResult<T>) -> Result<T, StoreError> {
        let attempt = Attempt { path: self.path(), doing: "writing the queue" };
        let connection = self.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        let changed = change(&transaction).map_err(|error| attempt.error(error))?;
        transaction.commit().map_err(|error| attempt.error(error))?;
        Ok(changed)
    }
}

fn add(connection: &Connection, new: &NewQueuedRun<'_>, answer: Option<&KeptAnswer>) -> SqlResult<Queueing> {
    if let Some(answer) = answer
        && let Some(known) = find_answer(connection, &answer.key, new.at)?
    {
        return Ok(Queueing::Answered(known));
    }
    let exists = |select: &str| connection.prepare_cached(select)?.exists(params![new.run]);
    let is_stored = exists("select 1 from runs where name = ?1")?;
    match find(connection, new.run)?.map(|queued| queued.state) {
        Some(_) if new.is_new => return Ok(Queueing::Taken),
        _ if new.is_new && is_stored => return Ok(Queueing::Taken),
        Some(QueueState::Waiting | QueueState::Started) => return Ok(Queueing::Busy),
        _ => {}
    }
    let waiting = connection.prepare_cached("select count(*) from queue where state = 0")?;
    if { waiting }.query_row(params![], |row| row.get::<i64>(0))? >= i64::from(new.most_waiting) {
        return Ok(Queueing::Full);
    }
    QUEUE.delete(connection, "run = ?1", params![new.run])?;
    let (seq, none, text) = (QUEUE.next_number(connection)?, None::<i64>, None::<&str>);
    let newest: i64 = connection.query_row("select coalesce(max(id), 0) from runs", params![], |row| row.get(0))?;
    let values = params![seq, new.run, new.order, 0, text, 0, 0, text, text, new.at.0, none, none, newest];
    QUEUE.insert(connection, "", values)?;
    if let Some(answer) = answer {
        add_answer(connection, answer)?;
    }
    Ok(Queueing::Added)
}

fn find(connection: &Connection, run: &str) -> SqlResult<Option<QueuedRun>> {
    // An older file that is read-only has no queue.
    if !connection.has_table("queue")? {
        return Ok(None);
    }
    let select = format!("select {} from queue where run = ?1", QUEUE.select(connection, &[]));
    connection.prepare_cached(&select)?.query_row(params![run], read_row).optional()
}

/// The last block of a run; 0 if it has none.
pub(super) fn rows_of(connection: &Connection, run: &str) -> SqlResult<i64> {
    let newest =
        "select coalesce(max(blocks.seq), 0) from blocks join runs on runs.id = blocks.run where runs.name = ?1";
    connection.prepare_cached(newest)?.query_row(params![run], |row| row.get(0))
}

pub(super) fn read_row(row: &Row<'_>) -> SqlResult<QueuedRun> {
    QUEUE.check(row, &[])?;
    let at = |column| Ok::<_, SqlError>(row.get::<Option<i64>>(column)?.map(Moment));
    Ok(QueuedRun {
        seq: row.get(0)?,
        run: row.get(1)?,
        order: row.get(2)?,
        state: match row.get::<i64>(3)? {
            0 => QueueState::Waiting,
            1 => QueueState::Started,
            _ => QueueState::Ended,
        },
        owner: row.get(4)?,
        crashes: row.get(5)?,
        status: row.get(7)?,
        problem: row.get(8)?,
        created_at: Moment(row.get(9)?),
        started_at: at(10)?,
        ended_at: at(11)?,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::tests::test_data::url_in;

    fn new<'a>(run: &'a str, is_new: bool) -> NewQueuedRun<'a> {
        NewQueuedRun { run, order: "{}", is_new, at: Moment(5), most_waiting: 2 }
    }

    fn answer(key: &str) -> KeptAnswer {
        let (body, location) = ("{}".to_owned(), Some("/x".to_owned()));
        KeptAnswer { key: key.to_owned(), fingerprint: [3; 32], status: 202, body, location, at: Moment(5) }
    }

    /// SV-04: one commit holds a queued run and its answer, and nothing of a request that is refused.
    #[test]
    pub(crate) fn a_run_is_queued_with_its_answer_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&url_in(folder.path())).unwrap();
        assert_eq!(store.enqueue(&new("a", true), Some(&answer("k"))).unwrap(), Queueing::Added);
        assert_eq!(store.enqueue(&new("b", true), Some(&answer("k"))).unwrap(), Queueing::Answered(answer("k")));
        assert_eq!(store.enqueue(&new("a", true), Some(&answer("l"))).unwrap(), Queueing::Taken);
        assert_eq!(store.enqueue(&new("a", false), None).unwrap(), Queueing::Busy);
        assert_eq!(store.enqueue(&new("c", true), None).unwrap(), Queueing::Added);
        assert_eq!(store.enqueue(&new("d", true), Some(&answer("l"))).unwrap(), Queueing::Full);
        assert_eq!(store.kept_answer("l", Moment(5)).unwrap(), None);
        assert_eq!(store.queue_depth().unwrap(), (2, 0));
    }

    /// SV-04, SV-07: runs are taken in the order in which they were asked for, once each.
    #[test]
    pub(crate) fn runs_are_taken_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&url_in(folder.path())).unwrap();
        store.enqueue(&new("a", true), None).unwrap();
        store.enqueue(&new("b", true), None).unwrap();
        let take = || store.take_queued("me", Moment(7)).unwrap().map(|queued| queued.run);
        assert_eq!(take().as_deref(), Some("a"));
        assert!(!store.cancel_queued("a", Moment(8)).unwrap() && store.cancel_queued("b", Moment(8)).unwrap());
        assert_eq!(take(), None);
        store.park_queued("a").unwrap();
        assert_eq!(take().as_deref(), Some("a"));
        store.end_queued("a", Some("failed"), Some("why"), Moment(9)).unwrap();
        let ended = store.queued_run("a").unwrap().unwrap();
        assert_eq!(
            (ended.state, ended.status.as_deref(), ended.ended_at),
            (QueueState::Ended, Some("failed"), Some(Moment(9)))
        );
        assert_eq!(store.enqueue(&new("a", false), None).unwrap(), Queueing::Added, "an ended run is continued");
    }
}
