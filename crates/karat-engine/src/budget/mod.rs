//! Money and calls of a run: reserved before a call, settled on its usage.
//!
//! - `limits` is the budget in memory; `reservations` the part of it that is reserved on disk.
//! - `claim` holds both for one call, attempt by attempt; called by `call::executor`.
//! - `call_price` is the most that a call can cost, and its bill afterwards.
//! - `service_costs` learns what services and programs charge.
//!
//! Read `limits`, `claim`, `reservations`.

pub(crate) mod call_price;
pub(crate) mod claim;
pub(crate) mod limits;
pub(crate) mod reservations;
pub(crate) mod service_costs;
