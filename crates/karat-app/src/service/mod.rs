//! The service: who may ask it, the runs that it was asked for, and those that it starts by itself.
//!
//! - `token` is the text of a token: its parts, its checksum, its hash.
//! - `tokens` creates, lists, revokes and checks tokens; `role` is what they allow.
//! - `demo` is a service to measure, for presets that need one.
//! - `health` is the state of the store, and the suites that can be run; `doctor` checks the environment.
//! - `order` is a run that was asked for, and its execution; `queue` keeps orders and their ends; `deaths` parks runs that end
//!   their process.
//! - `run_states` are the states of runs, with what the queue knows of them.
//! - `monitoring/` runs suites at due times, and tells people when something is wrong.

mod deaths;
mod demo;
pub(crate) mod doctor;
pub(crate) mod health;
pub(crate) mod monitoring;
pub(crate) mod order;
pub(crate) mod queue;
pub(crate) mod role;
pub(crate) mod run_states;
pub(crate) mod token;
pub(crate) mod tokens;

use crate::App;

/// The work of a server beside answering: tokens, the queue, schedules, incidents, alerts.
#[derive(Clone, Copy)]
pub struct Service<'a> {
    pub(crate) app: &'a App,
}
