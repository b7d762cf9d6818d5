//! Incidents and alerts: when a message is due, its content, and its form for each channel.
//!
//! - `incident` is the state machine of one incident: it opens, reminds and closes.
//! - `event` names what an alert is about; `message` is the content of a message, whatever its channel.
//! - `channel` makes the request for a webhook, Slack or Teams; `signature` signs it.
//! - `retry` says when a delivery is tried again.
//! - `spec` is an alert as a suite declares it.
//!
//! Nothing here reads a clock or opens a connection. Read `incident` first.

mod channel;
mod event;
mod incident;
mod message;
mod retry;
mod signature;
mod spec;

pub use channel::{Channel, HookRequest, hook_request};
pub use event::AlertEvent;
pub use incident::{Incident, IncidentRule, Notice, Observation};
pub use message::{AlertExample, AlertMessage, Baseline, Facts, MAX_EXAMPLE_CHARS, MAX_MESSAGE_BYTES};
pub use retry::{Attempted, MAX_ATTEMPTS, next_attempt};
pub use signature::{SecretError, sign};
pub use spec::AlertSpec;
