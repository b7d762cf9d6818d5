//! Deterministic metrics and LLM judges without a network stack.
//!
//! - [`metrics`] are plain functions and small structs over `&str`, slices and
//!   [`serde_json::Value`]; they need no suite and no engine.
//! - [`scorer`] binds a metric to a place in a suite's outputs and rows.
//! - [`judge`] turns a rubric into prompts and replies into verdicts; whoever uses it makes the calls.
//!   [`drive`] does so with any [`Completer`].

mod completer;
pub mod judge;
pub mod metrics;
pub mod scorer;

pub use completer::{Completer, drive};
