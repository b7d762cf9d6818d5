//! Analyses over stored runs. Each file is one command.
//!
//! - `compare`, `agree`, `drift`, `digest`, `golden`, `power`: the commands of these names.
//! - `series` reads the page of a dated suite, with the drift of `past_drift`.
//! - `gates` applies quality gates; `context` has their verdicts and the cost beside the findings of a run, and the figures
//!   that lists show of it. `canary` checks judges against frozen judgments.
//! - `suite_rows` collects the judged rows of all runs of a suite, for `drift`, `digest` and `golden`.
//! - `items` says what stored runs know of each item of a test set.

pub(crate) mod agree;
pub(crate) mod canary;
pub(crate) mod compare;
pub(crate) mod context;
pub(crate) mod digest;
pub(crate) mod drift;
pub(crate) mod gates;
pub(crate) mod golden;
pub(crate) mod items;
mod past_drift;
pub(crate) mod power;
pub(crate) mod series;
pub(crate) mod suite_rows;

use crate::App;

/// Analyses over stored runs.
#[derive(Clone, Copy)]
pub struct Analysis<'a> {
    pub(crate) app: &'a App,
}
