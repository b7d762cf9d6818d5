//! Recordings of calls.
//!
//! `recorder` writes calls into a recording (`--record`), `replay` defines its format and answers calls from it (`--replay`).
//!
//! `registry::providers` records and replays.

pub(crate) mod recorder;
pub(crate) mod replay;
