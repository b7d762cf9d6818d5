//! Answers of servers and programs as bytes, before a codec reads them, and what an attempt without a reply leaves.
//!
//! - `json` reads bodies; `excerpt` quotes foreign bytes in messages.
//! - `secrets` removes known secrets from requests, answers and messages, in every spelling that `escapes` knows.
//! - `billing` reads what a reply costs; `named_wait` the wait that a provider asks for.
//! - `failure` is a failed attempt: its code, its message, and the part of its cost that is unknown.
pub(crate) mod billing;
pub(crate) mod escapes;
pub(crate) mod excerpt;
pub(crate) mod failure;
pub(crate) mod json;
pub(crate) mod named_wait;
pub(crate) mod secrets;
