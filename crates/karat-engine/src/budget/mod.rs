//! Money and calls of a run: reserved before a call, settled on its usage.
//!
//! - `limits` is the budget in memory; `reservations` the part of it that is reserved on disk.
//! - `claim` holds both for one call, attempt by attempt; called by `call::executor`.
//! - `upper_bound` is the most that a call can cost, and its usage afterwards.
//! - `service_costs` learns what services and programs charge.
//!
//! Read `limits`, `claim`, `reservations`.

pub(crate) mod claim;
pub(crate) mod limits;
pub(crate) mod reservations;
pub(crate) mod service_costs;
pub(crate) mod upper_bound;
