//! The service: who may ask it, and the runs that it was asked for.
//!
//! - `token` is the text of a token: its parts, its checksum, its hash.
//! - `tokens` creates, lists, revokes and checks tokens; `role` is what they allow.
//! - `health` is the state of the store, and the suites that can be run.
//! - `order` is a run that was asked for, and its execution; `queue` keeps orders and their ends.

pub(crate) mod health;
pub(crate) mod order;
pub(crate) mod queue;
pub(crate) mod role;
pub(crate) mod token;
pub(crate) mod tokens;
