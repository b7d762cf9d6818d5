//! The engine runs a plan: it starts cells, answers the requests of their steps and judges, and records every result
//! before the result is used.
//!
//! # One cell
//! 1. [`run`] reads rows in plan order and hands their cells to workers; each worker makes one cell after the other.
//! 2. [`cell`] computes the content keys of the cell's steps and looks, last step first, for an existing output: in running
//!    work of this run, then through [`reuse`] in the store. Missing outputs are made.
//! 3. A step is a sans-IO machine ([`steps`]). [`call`] answers its requests: from the ledger if an earlier part of the run
//!    has paid for the call, else from the provider, within call slots and [`budget`].
//! 4. A call's record is on disk before its answer is read. The records of the cell, its scores and its judgments are
//!    written with those of the next calls, without waiting; the cell is reported once they are on disk.
//!
//! [`plan`] compiles the plan before the first cell, and [`estimate`] walks over it without making a call.
//!
//! A run that may stop early runs its rows in another order: see `early`.
//!
//! Reading order: `run::execute`, `run::scheduler`, `cell::evaluate`, `cell::steps`, `call::executor`, `reuse::resolver`.
//! The engine reads no clock but tokio's, no environment and no random source, and it prints nothing.

mod budget;
mod call;
mod cell;
mod control;
mod early;
mod estimate;
mod plan;
mod reuse;
mod rows;
mod run;
mod steps;

pub use crate::call::batch::REFUSED as BATCH_REFUSED;
pub use crate::call::log::{CallLog, LoggedCall};
pub use crate::control::refusals::{RefusingTarget, TargetFault};
pub use crate::control::stop::Stop;
pub use crate::estimate::usage_history::UsageHistory;
pub use crate::plan::identity::call_key;
pub use crate::plan::identity_parts::Change;
pub use crate::plan::services::external_needs;
pub use crate::reuse::reuse_report::{CellReuse, JudgmentReuse, ReuseStatus, explain_reuse};
pub use crate::run::execute::{Job, Outcome, execute};
pub use estimate::{Estimate, EstimateInput, Estimator, ModelEstimate, PlanPart};

/// A failure that ends a run. Failures within a cell are recorded in the cell instead.
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
    /// The ledger could not be written.
    #[error("recording results: {failure}; {advice}")]
    Ledger {
        /// The failed action and its error.
        failure: karat_store::LedgerError,
        /// The part that is kept, and the command that goes on with the run.
        advice: String,
    },
    /// The gates of a run that may stop early could not be decided.
    #[error("deciding gates while the run goes on: {0}")]
    Gates(String),
    /// Another stop is stored of the run: its results, its gates or what they compare with have changed.
    #[error(
        "resuming run {run}: its stored stop is after {stored}, and its results now stop it after {now}; \
         restore its gates and baseline, or run the suite again, which reuses the finished cells"
    )]
    OtherStop {
        /// The run.
        run: String,
        /// The stored stop.
        stored: String,
        /// The stop of its results.
        now: String,
    },
    /// A task died.
    #[error("a cell's task died: {0}. This is a bug in karat; please report it with the command that led to it")]
    Bug(String),
}
