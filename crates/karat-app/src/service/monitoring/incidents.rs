//! Incidents and the outbox, for people.

use karat_types::Moment;
use serde::Serialize;

use crate::error::ServiceError;
use crate::service::monitoring::alerting::IncidentBody;
use crate::{App, AppError, rfc3339};

/// Most incidents and messages that are listed.
const LISTED: usize = 1_000;

/// An incident.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IncidentLine {
    /// Its id.
    pub id: String,
    /// Name of the suite.
    pub suite: String,
    /// Id of the alert.
    pub alert: String,
    /// `open`, `acknowledged` or `closed`.
    pub state: String,
    /// Its event.
    pub event: String,
    /// The system.
    pub system: Option<String>,
    /// The gate or metric.
    pub subject: String,
    /// The last result in a sentence.
    pub summary: String,
    /// The run of the last result.
    pub run: String,
    /// Bad runs since it was opened.
    pub occurrences: u32,
    /// Time of its opening.
    pub opened_at: Option<String>,
    /// Time of its closing.
    pub closed_at: Option<String>,
}

/// A message of the outbox, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MessageLine {
    /// Its id, which receivers see as `webhook-id`.
    pub id: String,
    /// Name of the suite.
    pub suite: String,
    /// Id of the alert.
    pub alert: String,
    /// Id of the incident.
    pub incident: String,
    /// `pending`, `sent` or `dead`.
    pub state: String,
    /// Attempts so far.
    pub attempts: u32,
    /// Time of the next attempt.
    pub next_at: Option<String>,
    /// The last failure.
    pub error: String,
    /// Time of its creation.
    pub created_at: String,
}

impl App {
    /// The incidents in a state, or all that were ever open; the newest change first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn incidents(&self, state: Option<&str>) -> Result<Vec<IncidentLine>, AppError> {
        if !self.store.exists() {
            return Ok(Vec::new());
        }
        let line = |stored: karat_store::StoredIncident| {
            let body: IncidentBody = serde_json::from_str(&stored.body).unwrap_or_default();
            IncidentLine {
                id: stored.id,
                suite: stored.suite,
                alert: stored.alert,
                state: stored.state,
                event: body.event,
                system: body.system,
                subject: body.subject,
                summary: body.summary,
                run: body.run,
                occurrences: body.incident.occurrences,
                opened_at: body.incident.opened_at.map(rfc3339),
                closed_at: body.incident.closed_at.map(rfc3339),
            }
        };
        Ok(self.store_to_read()?.incidents(state, LISTED)?.into_iter().map(line).collect())
    }

    /// The messages in a state, or all; the newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn outbox(&self, state: Option<&str>) -> Result<Vec<MessageLine>, AppError> {
        if !self.store.exists() {
            return Ok(Vec::new());
        }
        let line = |stored: karat_store::StoredMessage| MessageLine {
            id: stored.id,
            suite: stored.suite,
            alert: stored.alert,
            incident: stored.incident,
            state: stored.state,
            attempts: stored.attempts,
            next_at: stored.next_at.map(rfc3339),
            error: stored.error,
            created_at: rfc3339(stored.at),
        };
        Ok(self.store_to_read()?.messages(state, LISTED)?.into_iter().map(line).collect())
    }

    /// Ends the reminders of an incident that is open.
    ///
    /// # Errors
    /// There is none with this id, or the store cannot be written.
    pub fn ack_incident(&self, id: &str) -> Result<(), AppError> {
        self.change(id, "acknowledged", |body, now| body.incident.acked_at = Some(now))
    }

    /// Closes an incident by hand: no message is sent, and the next bad run opens a new one.
    ///
    /// # Errors
    /// There is none with this id, or the store cannot be written.
    pub fn close_alert_incident(&self, id: &str) -> Result<(), AppError> {
        self.change(id, "closed", |body, now| body.incident.closed_at = Some(now))
    }

    /// Makes a message that was not sent due now.
    ///
    /// # Errors
    /// There is none with this id, or the store cannot be written.
    pub fn retry_message(&self, id: &str) -> Result<(), AppError> {
        match self.existing_store()?.retry_message(id, self.clock.now())? {
            true => Ok(()),
            false => Err(ServiceError::NoMessage { id: id.to_owned() }.into()),
        }
    }

    fn change(&self, id: &str, state: &str, change: impl FnOnce(&mut IncidentBody, Moment)) -> Result<(), AppError> {
        let store = self.existing_store()?;
        let missing = || ServiceError::NoIncident { id: id.to_owned() };
        let known = store.incident(id)?.filter(|known| known.state != "watching").ok_or_else(missing)?;
        let mut body: IncidentBody = serde_json::from_str(&known.body).unwrap_or_default();
        let now = self.clock.now();
        change(&mut body, now);
        let text = serde_json::to_string(&body).unwrap_or_default();
        if store.change_incident(id, state, &text, now)? { Ok(()) } else { Err(missing().into()) }
    }
}
