//! Bytes of calls as they are stored: without secrets, and in recordings.
//!
//! `secrets` removes known secrets from requests, answers and messages, in every spelling that `escapes` knows. `recorder`
//! writes calls into a recording (`--record`), `replay` defines its format and answers calls from it (`--replay`).
//!
//! `attempt::dispatch` cleans every answer here before it is parsed; `registry::providers` records and replays.

pub(crate) mod escapes;
pub(crate) mod recorder;
pub(crate) mod replay;
pub(crate) mod secrets;
