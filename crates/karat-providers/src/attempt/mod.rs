//! Attempts of one call: made, retried, and turned into an outcome.
//!
//! Read in this order: `exchange` (a call and its result, and the `Payer` who is asked before each attempt), `dispatch` (the
//! retry loop that all calls pass), `retry` (the waits between attempts), `request_check` (refuses
//! a body with a known key), `refused_settings` (settings that a model refused once are left out of its requests).
//!
//! `registry::providers` and `process::external_call` build an `AttemptSource` and hand it to `dispatch`, which passes
//! `limiter` before each attempt.

pub(crate) mod dispatch;
pub(crate) mod exchange;
pub(crate) mod refused_settings;
mod request_check;
pub(crate) mod retry;
