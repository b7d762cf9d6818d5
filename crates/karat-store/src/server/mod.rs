//! The state that the server keeps: who may ask it, the runs that it was asked for, and its answers to requests that may be repeated.
//!
//! - `tokens`: hashes of secrets.
//! - `queue`: runs that wait, run or have ended. `recovery`: what goes on after a crash.
//! - `answers`: answers under an `Idempotency-Key`; one that starts a run is written in the commit of its queue row.
//! - `firings`: due times: each is a run, or was skipped; a due time is stored once. It also keeps the pauses.
//! - `incidents`: open and closed ones. A run's changes of incidents, its messages and the end of its firing are one commit,
//!   so that a run alerts once. `outbox`: the messages that are to be sent, or were.
//! - `annotation/`: work for people, and what they did.
//! - `pages`: stored and waiting runs in one list that stays while runs are added.

pub(crate) mod annotation;
pub(crate) mod answers;
pub(crate) mod firings;
pub(crate) mod incidents;
pub(crate) mod outbox;
pub(crate) mod pages;
pub(crate) mod queue;
pub(crate) mod recovery;
pub(crate) mod tokens;
