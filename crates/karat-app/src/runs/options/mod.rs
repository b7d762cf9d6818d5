//! Ways to spend less on a run.
//!
//! - `plan_options`: the ways to run a plan, each with calls, price, time and precision; an estimate as JSON
//! - `sure_shares`: what the suite's last run says of a cascade's first judge

pub(crate) mod plan_options;
pub(crate) mod sure_shares;
