//! The progress of a run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::views::follow::counter::CellCounter;
use crate::views::follow::speed::Outlook;

/// Counts of the cells of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct CellCounts {
    /// Cells of the plan.
    pub planned: u64,
    /// Finished cells, including their judgments.
    pub done: u64,
    /// Cells that ended in an error.
    pub errors: u64,
    /// Cells with a score that is unscored.
    pub unscored: u64,
    /// Cells whose output came from an earlier run.
    pub cached: u64,
}

impl CellCounts {
    pub(crate) fn of(counter: &CellCounter, planned: u64) -> Self {
        Self {
            planned,
            done: counter.done.len(),
            errors: counter.errors.len() as u64,
            unscored: counter.unscored.len() as u64,
            cached: counter.cached.len(),
        }
    }
}

/// The progress of a run, and the time that the rest may take.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Progress {
    /// The cells.
    #[serde(flatten)]
    pub cells: CellCounts,
    /// Dollars paid, as far as prices are known.
    pub spend_usd: f64,
    /// Dollars that the run may spend.
    pub budget_usd: Option<f64>,
    /// Seconds that the rest takes at the present speed; unknown at the start.
    pub eta_s: Option<f64>,
    /// The range of these seconds.
    pub eta_range_s: Option<[f64; 2]>,
    /// Finished cells per second.
    pub cells_per_s: Option<f64>,
    /// Errors by code.
    pub codes: BTreeMap<String, u64>,
}

impl Progress {
    pub(crate) fn of(counter: &CellCounter, planned: u64, budget_usd: Option<f64>, outlook: Option<Outlook>) -> Self {
        let tenths = |seconds: f64| (seconds * 10.0).round() / 10.0;
        Self {
            cells: CellCounts::of(counter, planned),
            spend_usd: counter.spent.usd(),
            budget_usd,
            eta_s: outlook.map(|it| tenths(it.seconds)),
            eta_range_s: outlook.map(|it| [tenths(it.least_seconds), tenths(it.most_seconds)]),
            cells_per_s: outlook.map(|it| tenths(it.cells_per_s)),
            codes: counter.codes(),
        }
    }
}
