//! The stored start of a run, from which later runs read.

use std::path::PathBuf;

use karat_store::{Store, StoreError};
use karat_types::{GateRules, Money, PlanHeader, RunHeader, UncachedCost};
use serde::{Deserialize, Serialize};

use crate::error::RunError;
use crate::{AppError, Invocation};

/// The start of a run, stored under `invocation` of its header.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct StoredInvocation {
    /// The invocation that started it.
    pub invocation: Invocation,
    /// Maximum and minimum of the estimated cost with nothing cached, on conservative assumptions. Unknown if
    /// `estimate_per_cell` is empty.
    pub estimate: Money,
    pub estimate_low: Money,
    /// The same for one cell by system; `None` if a price is unknown.
    pub estimate_per_cell: Vec<Option<Money>>,
    /// True if the estimate was of a sample of the rows.
    pub estimate_sampled: bool,
    /// The gates of the run.
    pub rules: GateRules,
    /// The stored run whose outputs it scores, if it makes none.
    pub score_of: Option<String>,
    /// The recording that stores or answers its calls.
    pub tape: CallRecording,
    /// The addresses that are asked and are not the providers' own, and the proxies before them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
}

impl StoredInvocation {
    /// A stored start with only the estimate.
    pub fn with_estimate(UncachedCost { total: (least, most), per_cell, sampled }: &UncachedCost) -> Self {
        Self {
            estimate: *most,
            estimate_low: *least,
            estimate_per_cell: per_cell.clone(),
            estimate_sampled: *sampled,
            ..Self::default()
        }
    }

    /// The form that is stored. The gates of the run are part of it: without it the run would have none.
    pub fn to_json(&self, run: &str) -> Result<serde_json::Value, AppError> {
        let not_stored = |error| StoreError::OutOfRange(format!("what run {run} was started with: {error}")).into();
        serde_json::to_value(self).map_err(not_stored)
    }
}

/// Reads the stored start of a run.
pub(crate) fn read_stored_invocation(header: &RunHeader) -> Result<StoredInvocation, AppError> {
    let unknown = |source| RunError::UnknownStart { run: header.id.clone(), source }.into();
    serde_json::from_value(header.invocation.clone()).map_err(unknown)
}

/// The estimate that an earlier run of the plan stored, if this version of Karat would compute the same.
pub(crate) fn known_estimate(store: &Store, plan: &PlanHeader) -> Result<Option<UncachedCost>, AppError> {
    // Prices are not part of a plan's hash.
    let same = |header: &RunHeader| {
        header.version == env!("CARGO_PKG_VERSION")
            && header.plan.models == plan.models
            && header.plan.judges == plan.judges
            && header.plan.embedders == plan.embedders
    };
    let header = store.latest_of_plan(plan.plan_hash)?.filter(same);
    let known = header.and_then(|header| stored_estimate(&header));
    Ok(known.filter(|known| known.per_cell.len() == plan.systems.len()))
}

/// The stored estimate of a run.
pub(crate) fn stored_estimate(header: &RunHeader) -> Option<UncachedCost> {
    let begun: StoredInvocation = serde_json::from_value(header.invocation.clone()).ok()?;
    (!begun.estimate_per_cell.is_empty()).then_some(UncachedCost {
        total: (begun.estimate_low, begun.estimate),
        per_cell: begun.estimate_per_cell,
        sampled: begun.estimate_sampled,
    })
}

/// The use of a recording in a run. With one, no results of earlier runs are reused.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum CallRecording {
    /// No recording.
    #[default]
    None,
    /// It stores every call: `--record`.
    Record(PathBuf),
    /// It answers every call: `--replay`.
    Replay(PathBuf),
}

impl CallRecording {
    /// The same with an absolute path, so that the run can be resumed from another folder.
    pub(crate) fn with_absolute_path(self) -> Self {
        let from_root = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        match self {
            Self::None => Self::None,
            Self::Record(path) => Self::Record(from_root(path)),
            Self::Replay(path) => Self::Replay(from_root(path)),
        }
    }
}
