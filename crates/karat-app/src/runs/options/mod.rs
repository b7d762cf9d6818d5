//! Ways to spend less on a run.
//!
//! - `estimate_document`: an estimate as JSON
//! - `plan_options`: the ways to run a plan, each with calls, price, time and precision
//! - `sure_shares`: what the suite's last run says of a cascade's first judge

pub(crate) mod estimate_document;
pub(crate) mod plan_options;
pub(crate) mod sure_shares;
