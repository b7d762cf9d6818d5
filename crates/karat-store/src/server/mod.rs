//! What the server keeps: who may ask it, the runs that it was asked for, and its answers to requests that may be repeated.
//!
//! - `tokens`: hashes of secrets.
//! - `queue`: runs that wait, run or have ended. `recovery`: what goes on after a crash.
//! - `answers`: answers under an `Idempotency-Key`; one that starts a run is written in the commit of its queue row.
//! - `pages`: stored and waiting runs in one list that stays while runs are added.

pub(crate) mod answers;
pub(crate) mod pages;
pub(crate) mod queue;
pub(crate) mod recovery;
pub(crate) mod tokens;
