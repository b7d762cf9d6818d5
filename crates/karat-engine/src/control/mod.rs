//! Whom a run calls, and what ends its calls.
//!
//! - `target` is whom calls go to; `refusals` stops calls to recipients that refuse every one.
//! - `stop` ends a run from outside, `halt` once its rule has decided, `deadline` the time of a cell.
//! - `single_flight` does work under one content key once at a time.
pub(crate) mod deadline;
pub(crate) mod halt;
pub(crate) mod refusals;
pub(crate) mod single_flight;
pub(crate) mod stop;
pub(crate) mod target;
