//! Incidents: one that is not closed for each suite, alert and subject.

use karat_types::Moment;

use super::firings::has_table;
use super::outbox::{self, StoredMessage};
use crate::database::transaction;
use crate::error::Attempt;
use crate::sql::tables::{FIRINGS, INCIDENTS, OUTCOMES};
use crate::sql::{OptionalExtension, Row, SqlResult, StoredRow, params};
use crate::{Store, StoreError};

/// An incident, or the bad runs that may open one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredIncident {
    /// Its id.
    pub id: String,
    /// Name of the suite.
    pub suite: String,
    /// Id of the alert.
    pub alert: String,
    /// Event, system and subject: one incident that is not closed has it.
    pub key: String,
    /// `watching`, `open`, `acknowledged` or `closed`.
    pub state: String,
    /// Everything else, as JSON.
    pub body: String,
    /// Time of the last change.
    pub at: Moment,
}

/// The changes that the end of a run causes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunOutcome {
    /// New and changed incidents.
    pub incidents: Vec<StoredIncident>,
    /// Ids of incidents that are forgotten: they were never open.
    pub dropped: Vec<String>,
    /// Messages to send.
    pub messages: Vec<StoredMessage>,
}

impl Store {
    /// Stores the changes of a run: all, or none if those of this run are stored already. Returns `false` then.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn add_outcome(&self, run: &str, outcome: &RunOutcome, now: Moment) -> Result<bool, StoreError> {
        let attempt = Attempt { path: self.path(), doing: "storing incidents" };
        let connection = self.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        let written = (|| {
            if OUTCOMES.insert(&transaction, "on conflict do nothing", params![run, now.0])? == 0 {
                return Ok(false);
            }
            let replace = "on conflict (id) do update set suite = excluded.suite, alert = excluded.alert, \
                           key = excluded.key, state = excluded.state, body = excluded.body, at = excluded.at, \
                           sum = excluded.sum";
            // One that is open for the same subject makes way.
            let make_way = "delete from incidents where suite = ?1 and alert = ?2 and key = ?3 and id <> ?4 \
                            and state <> 'closed' and ?5 <> 'closed'";
            for it in &outcome.incidents {
                transaction.execute(make_way, params![it.suite, it.alert, it.key, it.id, it.state])?;
                let values = params![it.id, it.suite, it.alert, it.key, it.state, it.body, it.at.0];
                INCIDENTS.insert(&transaction, replace, values)?;
            }
            for id in &outcome.dropped {
                transaction.execute("delete from incidents where id = ?1 and state = 'watching'", params![id])?;
            }
            for message in &outcome.messages {
                outbox::insert(&transaction, message)?;
            }
            FIRINGS.change(&transaction, "run = ?1 and state = 'fired'", params![run], |row| {
                row.set("state", &"done");
                Ok(())
            })?;
            transaction.commit()?;
            Ok(true)
        })();
        written.map_err(|error| attempt.error(error))
    }

    /// Returns whether the changes of a run are stored.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn has_outcome(&self, run: &str) -> Result<bool, StoreError> {
        self.read("the incidents", |connection| {
            if !has_table(connection)? {
                return Ok(false);
            }
            let select = format!("select {} from outcomes where run = ?1", OUTCOMES.select(connection, &[]));
            let mark = connection.query_row(&select, params![run], |row| OUTCOMES.check(row, &[]));
            Ok(mark.optional()?.is_some())
        })
    }

    /// Changes an incident that is not closed. Returns `false` if there is none.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn change_incident(&self, id: &str, state: &str, body: &str, now: Moment) -> Result<bool, StoreError> {
        let set = |row: &mut StoredRow| {
            row.set("state", &state);
            row.set("body", &body);
            row.set("at", &now.0);
            Ok(())
        };
        let open = "id = ?1 and state <> 'closed'";
        let changed = self.write_service("changing an incident", |it| INCIDENTS.change(it, open, params![id], set));
        Ok(changed? > 0)
    }

    /// The incidents of a suite that are not closed, with those that are only watched.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn live_incidents(&self, suite: &str) -> Result<Vec<StoredIncident>, StoreError> {
        self.read("the incidents", |connection| {
            if !has_table(connection)? {
                return Ok(Vec::new());
            }
            let columns = INCIDENTS.select(connection, &[]);
            let select =
                format!("select {columns} from incidents where suite = ?1 and state <> 'closed' order by at, id");
            let mut statement = connection.prepare_cached(&select)?;
            let rows = statement.query_map(params![suite], read_incident)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// The last incidents that were opened, newest change first; with a state, only those in it.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn incidents(&self, state: Option<&str>, limit: usize) -> Result<Vec<StoredIncident>, StoreError> {
        self.read("the incidents", |connection| {
            if !has_table(connection)? {
                return Ok(Vec::new());
            }
            let columns = INCIDENTS.select(connection, &[]);
            let select = format!(
                "select {columns} from incidents where state <> 'watching' and (cast(?1 as text) is null or state = ?1) \
                 order by at desc, id limit ?2"
            );
            let mut statement = connection.prepare_cached(&select)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![state, limit], read_incident)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// The incidents that were ever open, in pages: the newest first, those before an id; with a state, only those in it.
    /// Ids grow with time, so a page stays while incidents change.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn incidents_before(
        &self,
        state: Option<&str>,
        before: Option<&str>,
        limit: usize,
    ) -> Result<Vec<StoredIncident>, StoreError> {
        self.read("the incidents", |connection| {
            if !has_table(connection)? {
                return Ok(Vec::new());
            }
            let columns = INCIDENTS.select(connection, &[]);
            let select = format!(
                "select {columns} from incidents where state <> 'watching' and (cast(?1 as text) is null or state = ?1) \
                 and (cast(?2 as text) is null or id < ?2) order by id desc limit ?3"
            );
            let mut statement = connection.prepare_cached(&select)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![state, before, limit], read_incident)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// The number of incidents by suite and event that are open or acknowledged.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn count_open_incidents(&self) -> Result<Vec<(String, String, u64)>, StoreError> {
        self.read("the incidents", |connection| {
            if !has_table(connection)? {
                return Ok(Vec::new());
            }
            let event = connection.dialect("json_extract(body, '$.event')", "body::json ->> 'event'");
            let select = format!(
                "select suite, coalesce({event}, ''), count(*) from incidents \
                 where state in ('open', 'acknowledged') group by 1, 2"
            );
            let mut statement = connection.prepare_cached(&select)?;
            let rows = statement.query_map(params![], |row| {
                Ok((row.get(0)?, row.get(1)?, u64::try_from(row.get::<i64>(2)?).unwrap_or(0)))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// An incident by its id.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn incident(&self, id: &str) -> Result<Option<StoredIncident>, StoreError> {
        self.read("the incidents", |connection| {
            if !has_table(connection)? {
                return Ok(None);
            }
            let columns = INCIDENTS.select(connection, &[]);
            let select = format!("select {columns} from incidents where id = ?1");
            Ok(connection.query_row(&select, params![id], read_incident).optional()?)
        })
    }
}

fn read_incident(row: &Row<'_>) -> SqlResult<StoredIncident> {
    INCIDENTS.check(row, &[])?;
    Ok(StoredIncident {
        id: row.get(0)?,
        suite: row.get(1)?,
        alert: row.get(2)?,
        key: row.get(3)?,
        state: row.get(4)?,
        body: row.get(5)?,
        at: Moment(row.get(6)?),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::tests::test_data::url_in;

    fn incident(id: &str, state: &str) -> StoredIncident {
        StoredIncident {
            id: id.to_owned(),
            suite: "support".to_owned(),
            alert: "oncall".to_owned(),
            key: "gate_failed".to_owned(),
            state: state.to_owned(),
            body: "{}".to_owned(),
            at: Moment(1),
        }
    }

    fn message(id: &str) -> StoredMessage {
        StoredMessage { id: id.to_owned(), next_at: Some(Moment(1)), ..StoredMessage::default() }
    }

    /// SV-02: pages of incidents neither repeat nor miss one while others change.
    #[test]
    pub(crate) fn pages_of_incidents_stay() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&url_in(folder.path())).unwrap();
        let numbered = |at: i64| StoredIncident { key: at.to_string(), ..incident(&format!("inc_{at}"), "open") };
        let outcome = RunOutcome { incidents: (1..=5).map(numbered).collect(), ..RunOutcome::default() };
        store.add_outcome("run", &outcome, Moment(1)).unwrap();
        let ids = |state, before| {
            let page = store.incidents_before(state, before, 2).unwrap();
            page.into_iter().map(|it| it.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(None, None), ["inc_5", "inc_4"]);
        store.change_incident("inc_3", "closed", r#"{"event":"drift"}"#, Moment(9)).unwrap();
        assert_eq!(ids(None, Some("inc_4")), ["inc_3", "inc_2"]);
        assert_eq!(ids(Some("closed"), None), ["inc_3"]);
        assert_eq!(store.count_open_incidents().unwrap(), [("support".to_owned(), String::new(), 4)]);
    }

    /// SV-15: the changes of a run are stored together, and once; a subject has one incident that is not closed.
    #[test]
    pub(crate) fn a_run_alerts_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&url_in(folder.path())).unwrap();
        let outcome = RunOutcome {
            incidents: vec![incident("inc_1", "open")],
            messages: vec![message("msg_1")],
            ..RunOutcome::default()
        };
        assert!(store.add_outcome("run", &outcome, Moment(1)).unwrap());
        assert!(!store.add_outcome("run", &outcome, Moment(2)).unwrap());
        assert!(store.has_outcome("run").unwrap() && !store.has_outcome("other").unwrap());
        assert_eq!(store.messages(None, 9).unwrap().len(), 1);
        // A message whose id is taken fails the whole commit.
        let broken = RunOutcome {
            incidents: vec![incident("inc_1", "closed")],
            messages: vec![message("msg_1")],
            ..RunOutcome::default()
        };
        assert!(store.add_outcome("later", &broken, Moment(3)).is_err());
        assert_eq!(store.live_incidents("support").unwrap(), [incident("inc_1", "open")]);
        assert!(!store.has_outcome("later").unwrap());
    }
}
