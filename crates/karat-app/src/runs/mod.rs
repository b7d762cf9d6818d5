//! Starting, resuming and re-scoring runs.
//!
//! - `execution` starts and resumes a run, phase by phase; `target` is the run that results go to.
//! - `preflight_estimate` estimates what is left, `preflight_budget` holds the estimate to the limits of the run.
//! - `rescore` re-runs failed cells, continues stopped runs to their end, and scores stored outputs again by a plan from `rescore_plan`.
//! - `why` explains what a run would reuse.
//! - `calibrate` runs a round of calibration, `readiness` lists what is missing before a run.
//! - `batches` submits the calls that a pass collects for batch APIs, and waits for them.
//! - `call_log` writes calls to a file for people to read.
//! - `options` has the estimate as JSON with the ways to spend less, and what cascades learned of the last run.
//! - `ending` words what a user reads at the end of a run.
//!
//! Read `execution`; it calls the others from top to bottom.

pub(crate) mod batches;
pub(crate) mod calibrate;
pub(crate) mod call_log;
pub(crate) mod ending;
pub(crate) mod execution;
pub(crate) mod options;
pub(crate) mod preflight_budget;
pub(crate) mod preflight_estimate;
pub(crate) mod readiness;
pub(crate) mod rescore;
pub(crate) mod rescore_plan;
pub(crate) mod target;
pub(crate) mod why;

use crate::App;

/// Runs: planned, executed, resumed, scored again.
#[derive(Clone, Copy)]
pub struct Runs<'a> {
    pub(crate) app: &'a App,
}
