//! Deterministic metrics and LLM judges without a network stack.
//!
//! | you have | module |
//! |---|---|
//! | a text and what it should be | [`metrics`]: plain functions and small structs over `&str`, slices and [`serde_json::Value`] |
//! | a rubric and a model | [`judge`]: prompts and verdicts; [`drive`] makes the calls with any [`Completer`] |
//! | a suite's outputs and rows | [`scorer`]: binds a metric to a place in them |
//!
//! Nothing here opens a socket, reads a clock or prints: calls come in through a [`Completer`], time through a
//! [`Clock`](karat_types::Clock), and what is worth a log line is a `tracing` event.
//!
//! ```
//! use karat_scoring::metrics::squad::{EmptyRule, token_f1};
//! use karat_scoring::metrics::edit;
//!
//! let (answer, expected) = ("The refund takes five days.", "five days");
//! assert_eq!(token_f1(answer, &[expected], EmptyRule::V2), Some(2.0 / 3.0));
//! assert_eq!(edit::levenshtein_distance("kitten", "sitting"), 3);
//! // A metric that has no meaning for its input is `None`, never 0.
//! let none: [&str; 0] = [];
//! assert_eq!(token_f1(answer, &none, EmptyRule::V2), None);
//! ```

#![deny(missing_docs)]

mod completer;
pub mod judge;
pub mod metrics;
pub mod scorer;

pub use completer::{Completer, Completion, Prompt, drive, drive_hinted};
