//! Deterministic metrics and LLM judges without a network stack.
//!
//! [`metrics`] are plain functions and small structs over `&str`, slices and
//! [`serde_json::Value`]; they need no suite and no engine.

pub mod metrics;
