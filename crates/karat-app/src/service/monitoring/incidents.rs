//! Incidents and the outbox, for people.

use karat_types::Moment;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::ServiceError;
use crate::service::Service;
use crate::service::monitoring::alerting::IncidentBody;
use crate::{AppError, rfc3339};

/// Most incidents and messages that are listed.
const LISTED: usize = 1_000;

/// An incident.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Incident")]
pub struct IncidentLine {
    /// Its id.
    pub id: String,
    /// Name of the suite.
    pub suite: String,
    /// Id of the alert.
    pub alert: String,
    /// `open`, `acknowledged` or `closed`.
    #[schemars(extend("enum" = ["open", "acknowledged", "closed"]))]
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
    #[schemars(extend("format" = "date-time"))]
    pub opened_at: Option<String>,
    /// Time of its closing.
    #[schemars(extend("format" = "date-time"))]
    pub closed_at: Option<String>,
}

/// A message of the outbox, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Message")]
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
    #[schemars(extend("enum" = ["pending", "sent", "dead"]))]
    pub state: String,
    /// Attempts so far.
    pub attempts: u32,
    /// Time of the next attempt.
    #[schemars(extend("format" = "date-time"))]
    pub next_at: Option<String>,
    /// The last failure.
    pub error: String,
    /// Time of its creation.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
}

/// The numbers of a service that its page and figures show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlertCounts {
    /// Open and acknowledged incidents: suite, event, number.
    pub open_incidents: Vec<(String, String, u64)>,
    /// Messages that are to be sent.
    pub pending: u64,
    /// Messages that were given up.
    pub dead: u64,
}

impl Service<'_> {
    /// The incidents in a state, or all that were ever open; the newest change first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn incidents(&self, state: Option<&str>) -> Result<Vec<IncidentLine>, AppError> {
        if !self.app.store.exists() {
            return Ok(Vec::new());
        }
        Ok(self.app.store_to_read()?.incidents(state, LISTED)?.into_iter().map(incident_line).collect())
    }

    /// A page of the incidents in a state, or of all: the newest first, those before an id.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn incident_page(
        &self,
        state: Option<&str>,
        before: Option<&str>,
        limit: usize,
    ) -> Result<Vec<IncidentLine>, AppError> {
        if !self.app.store.exists() {
            return Ok(Vec::new());
        }
        let page = self.app.store_to_read()?.incidents_before(state, before, limit)?;
        Ok(page.into_iter().map(incident_line).collect())
    }

    /// The messages in a state, or all; the newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn outbox(&self, state: Option<&str>) -> Result<Vec<MessageLine>, AppError> {
        self.outbox_page(state, None, LISTED)
    }

    /// A page of the messages in a state, or of all: the newest first, those before an id.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn outbox_page(
        &self,
        state: Option<&str>,
        before: Option<&str>,
        limit: usize,
    ) -> Result<Vec<MessageLine>, AppError> {
        if !self.app.store.exists() {
            return Ok(Vec::new());
        }
        let page = self.app.store_to_read()?.messages_before(state, before, limit)?;
        Ok(page.into_iter().map(message_line).collect())
    }

    /// The numbers of incidents and messages.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn alert_counts(&self) -> Result<AlertCounts, AppError> {
        if !self.app.store.exists() {
            return Ok(AlertCounts::default());
        }
        let store = self.app.store_to_read()?;
        Ok(AlertCounts {
            open_incidents: store.count_open_incidents()?,
            pending: store.count_messages("pending")?,
            dead: store.count_messages("dead")?,
        })
    }

    /// Ends the reminders of an incident. One that is closed stays as it is.
    ///
    /// # Errors
    /// There is none with this id, or the store cannot be written.
    pub fn ack_incident(&self, id: &str) -> Result<IncidentLine, AppError> {
        self.change(id, "acknowledged", |body, now| body.incident.acked_at = Some(now))
    }

    /// Closes an incident by hand: no message is sent, and the next bad run opens a new one. One that is closed stays as it is.
    ///
    /// # Errors
    /// There is none with this id, or the store cannot be written.
    pub fn close_alert_incident(&self, id: &str) -> Result<IncidentLine, AppError> {
        self.change(id, "closed", |body, now| body.incident.closed_at = Some(now))
    }

    /// Makes a message that was not sent due now.
    ///
    /// # Errors
    /// There is none with this id, it was sent, or the store cannot be written.
    pub fn retry_message(&self, id: &str) -> Result<MessageLine, AppError> {
        let missing = || ServiceError::NoMessage { id: id.to_owned() };
        if !self.app.store.exists() {
            return Err(missing().into());
        }
        let store = self.app.open_store()?;
        if !store.retry_message(id, self.app.clock.now())? {
            store.message(id)?.ok_or_else(missing)?;
            return Err(ServiceError::MessageSent { id: id.to_owned() }.into());
        }
        Ok(message_line(store.message(id)?.ok_or_else(missing)?))
    }

    fn change(
        &self,
        id: &str,
        state: &str,
        change: impl FnOnce(&mut IncidentBody, Moment),
    ) -> Result<IncidentLine, AppError> {
        let missing = || ServiceError::NoIncident { id: id.to_owned() };
        if !self.app.store.exists() {
            return Err(missing().into());
        }
        let store = self.app.open_store()?;
        let read = || Ok::<_, AppError>(store.incident(id)?.filter(|it| it.state != "watching").ok_or_else(missing)?);
        let known = read()?;
        let mut body: IncidentBody = serde_json::from_str(&known.body).unwrap_or_default();
        let now = self.app.clock.now();
        change(&mut body, now);
        let text = serde_json::to_string(&body).unwrap_or_default();
        // The store changes nothing that is closed.
        store.change_incident(id, state, &text, now)?;
        Ok(incident_line(read()?))
    }
}

fn incident_line(stored: karat_store::StoredIncident) -> IncidentLine {
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
}

fn message_line(stored: karat_store::StoredMessage) -> MessageLine {
    MessageLine {
        id: stored.id,
        suite: stored.suite,
        alert: stored.alert,
        incident: stored.incident,
        state: stored.state,
        attempts: stored.attempts,
        next_at: stored.next_at.map(rfc3339),
        error: stored.error,
        created_at: rfc3339(stored.at),
    }
}
