//! What becomes of a step.

use std::sync::Arc;

use karat_types::{CellError, Moment, Money, StepRecord};

use crate::call::tally::Tally;
use crate::cell::single_flight::Landing;

/// A step's output, or why there is none; shared by the cells that need it.
pub(crate) type StepResult = Result<Arc<Made>, Arc<Unmade>>;

/// An output and where it came from.
pub(crate) struct Made {
    pub step: Arc<StepRecord>,
    pub origin: Origin,
}

/// What became of a step, on its way into its cell.
pub(crate) struct Output {
    pub result: StepResult,
    /// What was paid now, for this step and those before it, whatever came of them. Who shares the work of another has paid
    /// nothing.
    pub paid: Money,
    /// Kept until the step is on disk, so that nobody makes it again meanwhile.
    pub landing: Option<Landing<StepResult>>,
}

impl Output {
    /// Nobody else waits for it, and it cost nothing.
    pub fn free(result: StepResult) -> Self {
        Self { result, paid: Money::ZERO, landing: None }
    }
}

/// Where an output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// From an earlier run, that began at this moment.
    Reused(Moment),
    /// Made by this run, and on disk under its key.
    Saved,
    /// Made now, needed by this cell only, so that its step is recorded together with the cell.
    Unsaved,
    /// Found, not made.
    Recorded,
}

/// A step without an output.
#[derive(Debug, Clone)]
pub(crate) struct Unmade {
    pub why: Why,
    /// What it came to nevertheless, with the steps before it.
    pub tally: Tally,
}

/// Why a step has no output.
#[derive(Debug, Clone)]
pub(crate) enum Why {
    Failed(CellError),
    Skipped(String),
}
