//! The engine drives a plan: it starts cells, answers what their steps and judges ask, and hands every result to the
//! ledger before anybody uses it.
//!
//! # How a cell goes
//! 1. `run` takes rows in plan order and sends their cells down a fixed number of lanes, each a task that makes one cell
//!    after the other.
//! 2. `chain` computes the content keys of the cell's steps and looks, last step first, for an output that exists:
//!    in this run's work under way, then in the store. What is missing is made.
//! 3. A step is a sans-IO machine (`steps`); `calls` answers what it asks: from the ledger if an earlier part of
//!    the run has paid it, else from the provider, within slots and budget.
//! 4. A call's record is on disk before its answer is read. The records of the cell, with its deterministic scores, and of
//!    its judgments (`judging`) follow with the next call's; nobody waits for them, and only then is the cell shown
//!    (`progress`).
//!
//! The engine reads no clock but tokio's, no environment and no random source, and it prints nothing.

mod budget;
mod call;
mod cell;
mod estimate;
mod plan;
mod reuse;
mod run;
mod steps;

pub use crate::call::log::{CallLog, LoggedCall};
pub use crate::estimate::usage_history::UsageHistory;
pub use crate::plan::services::external_needs;
pub use crate::reuse::identity::call_key;
pub use crate::reuse::identity_parts::Change;
pub use crate::reuse::reuse_report::{CellReuse, JudgmentReuse, ReuseStatus, explain_reuse};
pub use crate::run::execute::{Job, Outcome, execute};
pub use crate::run::stop::Stop;
pub use estimate::{Estimate, EstimateInput, Estimator, ModelEstimate, PlanPart, UncachedCost};

/// Why a run could not go on. What happens within a cell is never one of these: it is recorded there.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The plan cannot be compiled.
    #[error("preparing the run: {0}")]
    Plan(String),
    /// A row could not be read.
    #[error(transparent)]
    Dataset(karat_suite::DatasetError),
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] karat_store::StoreError),
    /// The ledger could not be written. Everything recorded so far is kept.
    #[error("recording results: {failure}. What was recorded is kept: make room, then `{next}`")]
    Ledger {
        /// What was attempted and what went wrong.
        failure: String,
        /// The command that goes on with the run.
        next: String,
    },
    /// A task died.
    #[error("a cell's task died: {0}. This is a bug in karat; please report it with the command that led to it")]
    Bug(String),
}
