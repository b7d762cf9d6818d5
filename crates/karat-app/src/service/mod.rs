//! The service: suites that run by themselves, and people who hear of it.
//!
//! - `monitoring/` runs suites at due times, and tells people when something is wrong.

pub(crate) mod monitoring;
