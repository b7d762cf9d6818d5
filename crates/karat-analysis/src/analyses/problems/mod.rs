//! Analyses of what went wrong: `errors` (failed calls), `failures` (low scores), `notes` and `services`.
//!
//! `failures` groups its cells with `categories`; both describe a low score as a `shortfall`.

pub(super) mod categories;
pub(super) mod errors;
pub(super) mod failures;
pub(super) mod notes;
pub(super) mod services;
pub(super) mod shortfall;
