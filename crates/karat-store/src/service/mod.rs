//! Schedules, incidents and the outbox: the state of continuous evaluation. Bodies are the application's own JSON.
//!
//! - `firings` are due times: each is a run, or was skipped; a due time is stored once. It also keeps the pauses.
//! - `incidents` are open and closed ones. A run's changes of incidents, its messages and the end of its firing are one
//!   commit, so that a run alerts once.
//! - `outbox` is the messages that are to be sent, or were.

pub(crate) mod firings;
pub(crate) mod incidents;
pub(crate) mod outbox;
