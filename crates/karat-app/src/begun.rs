//! What a stored run remembers of its beginning, and what a later run takes from it.

use karat_engine::Afresh;
use karat_report::Estimate;
use karat_store::Store;
use karat_types::{GateRules, Money, PlanHeader, RunHeader};
use serde::{Deserialize, Serialize};

use crate::error::{Names, RunError};
use crate::{AppError, Invocation, Tape};

/// What a run remembers of its beginning, under `invocation` of its header.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Begun {
    /// What it was started with.
    pub invocation: Invocation,
    /// What it was expected to cost if nothing had been there, on conservative assumptions: at the most, and at least. Not
    /// known yet where `estimate_per_cell` is empty.
    pub estimate: Money,
    pub estimate_low: Money,
    /// The same for one cell, by system; `None` where a price is unknown.
    pub estimate_per_cell: Vec<Option<Money>>,
    /// Whether some rows stood for others.
    pub estimate_sampled: bool,
    /// What it is held to.
    pub rules: GateRules,
    /// The stored run whose outputs it scores, where it makes none.
    pub score_of: Option<String>,
    /// The recording that gets its calls, or answers them.
    pub tape: Tape,
}

impl Begun {
    /// What is expected, and nothing else.
    pub fn expecting(Afresh { total: (least, most), per_cell, sampled }: &Afresh) -> Self {
        Self {
            estimate: *most,
            estimate_low: *least,
            estimate_per_cell: per_cell.clone(),
            estimate_sampled: *sampled,
            ..Self::default()
        }
    }
}

/// What a run remembers of its beginning.
pub(crate) fn begun(header: &RunHeader) -> Result<Begun, AppError> {
    let unknown = |source| RunError::UnknownStart { run: header.id.clone(), source }.into();
    serde_json::from_value(header.invocation.clone()).map_err(unknown)
}

/// What an earlier run of the plan was expected to cost from the beginning, as this version of Karat would say it.
pub(crate) fn known_estimate(store: &Store, plan: &PlanHeader) -> Result<Option<Afresh>, AppError> {
    // Prices are no part of a plan's hash.
    let same = |header: &RunHeader| {
        header.version == env!("CARGO_PKG_VERSION")
            && header.plan.models == plan.models
            && header.plan.judges == plan.judges
    };
    let header = store.latest_of_plan(plan.plan_hash)?.filter(same);
    let begun = header.and_then(|header| serde_json::from_value::<Begun>(header.invocation).ok());
    Ok(begun.filter(|begun| begun.estimate_per_cell.len() == plan.systems.len()).map(|begun| Afresh {
        total: (begun.estimate_low, begun.estimate),
        per_cell: begun.estimate_per_cell,
        sampled: begun.estimate_sampled,
    }))
}

/// What the plan of a run expected it to cost.
pub(crate) fn expected(header: &RunHeader) -> Option<Estimate> {
    let begun: Begun = serde_json::from_value(header.invocation.clone()).ok()?;
    (!begun.estimate_per_cell.is_empty()).then_some(Estimate {
        least: begun.estimate_low,
        total: begun.estimate,
        per_cell: begun.estimate_per_cell,
        sampled: begun.estimate_sampled,
    })
}

/// A run is gone on with only under the plan that it was begun with.
pub(crate) fn same_plan(stored: &RunHeader, now: &PlanHeader) -> Result<(), AppError> {
    if stored.plan.plan_hash == now.plan_hash {
        return Ok(());
    }
    let changes = Names::of(karat_suite::plan_changes(&stored.plan, now));
    Err(RunError::PlanChanged { run: stored.id.clone(), changes }.into())
}
