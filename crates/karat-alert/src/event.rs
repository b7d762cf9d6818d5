//! Events that alerts are about.

use serde::{Deserialize, Serialize};

/// An event that an alert is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertEvent {
    /// A gate is not met.
    GateFailed,
    /// A gate cannot be decided.
    Undecided,
    /// Recent scores are worse than those before.
    Drift,
    /// A judge no longer grades as it did.
    JudgeMoved,
    /// A run failed.
    RunFailed,
    /// A run was stopped or refused by its budget.
    BudgetStopped,
    /// A due time was skipped.
    ScheduleMissed,
    /// A message of another alert could not be delivered.
    DeliveryFailed,
}

impl AlertEvent {
    /// Its name in suites and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GateFailed => "gate_failed",
            Self::Undecided => "undecided",
            Self::Drift => "drift",
            Self::JudgeMoved => "judge_moved",
            Self::RunFailed => "run_failed",
            Self::BudgetStopped => "budget_stopped",
            Self::ScheduleMissed => "schedule_missed",
            Self::DeliveryFailed => "delivery_failed",
        }
    }
}
