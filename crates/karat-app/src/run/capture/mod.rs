//! Files that get the calls of a run.
//!
//! - `recording` names a recording of calls, which can answer them later.
//! - `call_log` writes calls to a file for people to read.

pub(crate) mod call_log;
pub(crate) mod recording;
