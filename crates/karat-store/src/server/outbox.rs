//! Messages that are to be sent, or were.

use karat_types::Moment;

use super::firings::has_table;
use crate::sql::tables::OUTBOX;
use crate::sql::{Connection, OptionalExtension, Row, SqlResult, StoredRow, ToValue, params};
use crate::{Store, StoreError};

/// A message of an alert.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredMessage {
    /// Its id, the same over all attempts.
    pub id: String,
    /// Path of the suite that declares the alert.
    pub path: String,
    /// Name of the suite.
    pub suite: String,
    /// Id of the alert.
    pub alert: String,
    /// Id of the incident.
    pub incident: String,
    /// The message as JSON.
    pub body: String,
    /// `pending`, `sent` or `dead`; empty means pending.
    pub state: String,
    /// Attempts so far.
    pub attempts: u32,
    /// Time of the next attempt, while it is pending.
    pub next_at: Option<Moment>,
    /// The last failure.
    pub error: String,
    /// Time of its creation.
    pub at: Moment,
}

pub(super) fn insert(connection: &Connection, message: &StoredMessage) -> SqlResult<()> {
    let StoredMessage { id, path, suite, alert, incident, body, attempts, next_at, error, at, state } = message;
    let state = if state.is_empty() { "pending" } else { state };
    let next_at = next_at.map(|at| at.0);
    let values = params![id, path, suite, alert, incident, body, state, attempts, next_at, error, at.0];
    OUTBOX.insert(connection, "", values).map(drop)
}

impl Store {
    /// Takes the pending message that has been due for longest, and puts its next attempt off to `until`: no other
    /// process sends it meanwhile, and after a crash it is sent again then. Messages of `busy` alerts, each the path of a
    /// suite and an id, are left.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn take_message(
        &self,
        now: Moment,
        until: Moment,
        busy: &[(String, String)],
    ) -> Result<Option<StoredMessage>, StoreError> {
        let attempt = crate::error::Attempt { path: self.path(), doing: "taking a message" };
        let connection = self.writing();
        let transaction = crate::database::transaction::begin(&connection, attempt)?;
        let taken = (|| {
            let columns = OUTBOX.select(&transaction, &[]);
            let others =
                (0..busy.len()).map(|at| format!(" and not (path = ?{} and alert = ?{})", 2 * at + 2, 2 * at + 3));
            let select = format!(
                "select {columns} from outbox where state = 'pending' and next_at <= ?1{} order by next_at, at, id limit 1",
                others.collect::<String>()
            );
            let mut values: Vec<&dyn ToValue> = vec![&now.0];
            values.extend(busy.iter().flat_map(|(path, alert)| [path as &dyn ToValue, alert]));
            let message = transaction.query_row(&select, &values, read_message).optional()?;
            if let Some(message) = &message {
                OUTBOX.change(&transaction, "id = ?1", params![message.id], |row| {
                    row.set("next_at", &until.0);
                    row.set("attempts", &(message.attempts + 1));
                    Ok(())
                })?;
            }
            transaction.commit()?;
            Ok(message.map(|message| StoredMessage { attempts: message.attempts + 1, ..message }))
        })();
        taken.map_err(|error| attempt.error(error))
    }

    /// Stores the end of an attempt: `sent`, `dead`, or `pending` with the time of the next one.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn end_attempt(&self, id: &str, state: &str, next_at: Option<Moment>, error: &str) -> Result<(), StoreError> {
        let end = |row: &mut StoredRow| {
            row.set("state", &state);
            row.set("next_at", &next_at.map(|at| at.0));
            row.set("error", &error);
            Ok(())
        };
        self.write_service("storing an attempt", |it| OUTBOX.change(it, "id = ?1", params![id], end)).map(drop)
    }

    /// Makes a message that was not sent due now, with all of its attempts. Returns `false` if there is none.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn retry_message(&self, id: &str, now: Moment) -> Result<bool, StoreError> {
        let retry = |row: &mut StoredRow| {
            row.set("state", &"pending");
            row.set("attempts", &0);
            row.set("next_at", &now.0);
            Ok(())
        };
        let unsent = "id = ?1 and state <> 'sent'";
        Ok(self.write_service("retrying a message", |it| OUTBOX.change(it, unsent, params![id], retry))? > 0)
    }

    /// The last messages, newest first; with a state, only those in it.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn messages(&self, state: Option<&str>, limit: usize) -> Result<Vec<StoredMessage>, StoreError> {
        self.read("the outbox", |connection| {
            if !has_table(connection)? {
                return Ok(Vec::new());
            }
            let columns = OUTBOX.select(connection, &[]);
            let select = format!(
                "select {columns} from outbox where cast(?1 as text) is null or state = ?1 order by at desc, id desc limit ?2"
            );
            let mut statement = connection.prepare_cached(&select)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![state, limit], read_message)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// The messages in pages: the newest first, those before an id; with a state, only those in it. Ids grow with time.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn messages_before(
        &self,
        state: Option<&str>,
        before: Option<&str>,
        limit: usize,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        self.read("the outbox", |connection| {
            if !has_table(connection)? {
                return Ok(Vec::new());
            }
            let columns = OUTBOX.select(connection, &[]);
            let select = format!(
                "select {columns} from outbox where (cast(?1 as text) is null or state = ?1) and (cast(?2 as text) is null or id < ?2) \
                 order by id desc limit ?3"
            );
            let mut statement = connection.prepare_cached(&select)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![state, before, limit], read_message)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// A message by its id.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn message(&self, id: &str) -> Result<Option<StoredMessage>, StoreError> {
        self.read("the outbox", |connection| {
            if !has_table(connection)? {
                return Ok(None);
            }
            let columns = OUTBOX.select(connection, &[]);
            let select = format!("select {columns} from outbox where id = ?1");
            Ok(connection.query_row(&select, params![id], read_message).optional()?)
        })
    }

    /// The number of messages in a state.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn count_messages(&self, state: &str) -> Result<u64, StoreError> {
        self.read("the outbox", |connection| {
            if !has_table(connection)? {
                return Ok(0);
            }
            let count: i64 =
                connection
                    .query_row("select count(*) from outbox where state = ?1", params![state], |row| row.get(0))?;
            Ok(u64::try_from(count).unwrap_or(0))
        })
    }
}

fn read_message(row: &Row<'_>) -> SqlResult<StoredMessage> {
    OUTBOX.check(row, &[])?;
    Ok(StoredMessage {
        id: row.get(0)?,
        path: row.get(1)?,
        suite: row.get(2)?,
        alert: row.get(3)?,
        incident: row.get(4)?,
        body: row.get(5)?,
        state: row.get(6)?,
        attempts: row.get(7)?,
        next_at: row.get::<Option<i64>>(8)?.map(Moment),
        error: row.get(9)?,
        at: Moment(row.get(10)?),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::RunOutcome;
    use crate::tests::test_data::url_in;

    /// SV-18: a message is taken by one process at a time; after a crash it is due again, with the same id.
    #[test]
    pub(crate) fn a_message_is_taken_by_one_process() {
        let folder = tempfile::tempdir().unwrap();
        let url = url_in(folder.path());
        let (one, two) = (Store::open(&url).unwrap(), Store::open(&url).unwrap());
        let message = StoredMessage { id: "msg_1".to_owned(), next_at: Some(Moment(10)), ..StoredMessage::default() };
        one.add_outcome("run", &RunOutcome { messages: vec![message], ..RunOutcome::default() }, Moment(1)).unwrap();
        assert_eq!(one.take_message(Moment(9), Moment(99), &[]).unwrap(), None);
        let taken = one.take_message(Moment(10), Moment(40), &[]).unwrap().unwrap();
        assert_eq!((taken.id.as_str(), taken.attempts), ("msg_1", 1));
        assert_eq!(two.take_message(Moment(39), Moment(99), &[]).unwrap(), None);
        let busy = [(String::new(), "other".to_owned()), (String::new(), String::new())];
        assert_eq!(two.take_message(Moment(40), Moment(99), &busy).unwrap(), None, "its alert is busy");
        // The process that took it was killed.
        let again = two.take_message(Moment(40), Moment(70), &[]).unwrap().unwrap();
        assert_eq!((again.id.as_str(), again.attempts), ("msg_1", 2));
        two.end_attempt("msg_1", "dead", None, "410").unwrap();
        assert_eq!(
            (two.count_messages("dead").unwrap(), two.take_message(Moment(999), Moment(999), &[]).unwrap()),
            (1, None)
        );
        assert!(two.retry_message("msg_1", Moment(50)).unwrap());
        assert_eq!(one.take_message(Moment(50), Moment(60), &[]).unwrap().unwrap().attempts, 1);
        one.end_attempt("msg_1", "sent", None, "").unwrap();
        assert!(!one.retry_message("msg_1", Moment(50)).unwrap());
    }
}
