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

mod announcer;
mod bounds;
mod budget;
mod calllog;
mod calls;
mod cell;
mod cell_time;
mod chain;
mod claim;
mod company;
mod credit;
mod estimate;
mod fees;
mod files;
mod flights;
mod history;
mod identity;
mod judging;
mod lanes;
mod lengths;
mod made;
mod paid;
mod parts;
mod privacy;
mod progress;
mod remaining;
mod resolver;
mod row;
mod run;
mod services;
mod settling;
mod standing;
mod steps;
mod stop;
mod systems;
mod target;
mod tokens;
mod workshop;

pub use calllog::{CallLog, LoggedCall};
pub use estimate::{Afresh, Estimate, Given, ModelEstimate, Part, Survey};
pub use identity::call_key;
pub use lengths::Lengths;
pub use parts::Change;
pub use run::{Job, Outcome, execute};
pub use services::outside;
pub use standing::{CellOutlook, JudgmentOutlook, Standing, outlook};
pub use stop::Stop;

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
