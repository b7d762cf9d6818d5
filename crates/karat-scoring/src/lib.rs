//! Deterministic metrics and LLM judges without a network stack.
//!
//! - [`metrics`] are plain functions and small structs over `&str`, slices and
//!   [`serde_json::Value`]; they need no suite and no engine.
//! - [`summary`] scores structured session summaries, pair by pair or a corpus at a time, and judges them.
//! - [`scorer`] binds a metric to a place in a suite's outputs and rows.
//! - [`judge`] turns a rubric into prompts and replies into verdicts; the caller makes the model calls.
//!   [`drive`] does so with any [`Completer`].
//!
//! Nothing here opens a socket, reads a clock or prints: calls come in through a [`Completer`], time through a
//! [`Clock`](karat_types::Clock), and what is worth a log line is a `tracing` event.

mod completer;
pub mod judge;
pub mod metrics;
pub mod scorer;
pub mod summary;

pub use completer::{Completer, Completion, Prompt, drive, drive_hinted};
