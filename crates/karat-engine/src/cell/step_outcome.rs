//! The outcome of a step.

use std::sync::Arc;

use karat_types::{Moment, Money, StepRecord};

use crate::call::tally::Tally;
use crate::control::single_flight::FlightGuard;
use crate::steps::Reason;

/// The output of a step, or the reason for a missing one; shared by the cells that need it.
pub(crate) type StepResult = Result<Arc<StepOutput>, Arc<StepMissing>>;

/// An output and its origin.
pub(crate) struct StepOutput {
    pub step: Arc<StepRecord>,
    pub origin: Origin,
}

/// The outcome of a cell's last step.
pub(crate) struct ChainOutput {
    pub result: StepResult,
    /// The amount paid now for this step and those before it, whether they succeeded or not; 0 for a cell that shares
    /// the work of another.
    pub paid: Money,
    /// Held until the step is on disk, so that no other cell makes it in the meantime.
    pub flight: Option<FlightGuard<StepResult>>,
}

impl ChainOutput {
    /// An outcome that cost nothing and that no other cell waits for.
    pub fn without_cost(result: StepResult) -> Self {
        Self { result, paid: Money::ZERO, flight: None }
    }
}

/// The origin of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Reused from a run that started at this moment.
    Reused(Moment),
    /// Made by this run, and on disk under its key.
    Saved,
    /// Made now and needed by this cell only, so that its step is recorded together with the cell.
    Unsaved,
    /// Read from a file or column.
    Recorded,
}

/// A step without an output.
#[derive(Debug, Clone)]
pub(crate) struct StepMissing {
    pub why: Reason,
    /// The cost all the same, including the steps before it.
    pub tally: Tally,
}
