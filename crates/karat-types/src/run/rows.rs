//! Access to stored runs: a stream in plan order, never a list of everything.

use std::ops::{ControlFlow, Range};

use crate::{CellCost, CellRecord, JudgmentRecord, RunHeader, SampleRecord, StoredStop};

/// The games that a cell won of its games before one judge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GameShare {
    /// Index of the metric.
    pub metric: u16,
    /// Index of the judge.
    pub judge: u16,
    /// Games won, a tie counting half.
    pub won: f64,
    /// Games.
    pub games: f64,
}

/// A stored run could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RowError(pub String);

/// One cell as read back, with its sample and its judgments (by scorer, then judge).
///
/// `cell.output` is `None` here even for cells that have one: outputs are fetched one at a time where they are shown.
#[derive(Debug, Clone, Copy)]
pub struct CellRow<'a> {
    /// The sample.
    pub sample: &'a SampleRecord,
    /// Index of the system in the plan.
    pub system: usize,
    /// Repetition, from 0.
    pub trial: u32,
    /// The cell.
    pub cell: &'a CellRecord,
    /// Its judgments.
    pub judgments: &'a [JudgmentRow],
    /// In a tournament, what it won of all its games, also of those that stand with other cells; by metric, then judge.
    pub shares: &'a [GameShare],
    /// In a tournament, what its judges cost: half of each of its games, whichever cell holds the judgment, and its other
    /// judgments. `None` where every judgment is of one output.
    pub judging: Option<&'a [CellCost]>,
}

/// A judgment as read back.
pub type JudgmentRow = JudgmentRecord;

/// A stored run: what analyses and reports read.
///
/// Contract: rows come in plan order (ascending ordinal), each cell once — its latest row where `retry` wrote a second
/// one — and memory does not grow with their number.
pub trait RunRows: Sync {
    /// The run.
    fn header(&self) -> &RunHeader;

    /// The record of its early stop; `None` for a run that cannot stop early or has not ended.
    fn stop(&self) -> Option<&StoredStop> {
        None
    }

    /// Calls `row` for each cell of these ordinals until it breaks.
    fn for_each_in(
        &self,
        ordinals: Range<u64>,
        row: &mut dyn FnMut(CellRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), RowError>;

    /// Calls `row` for each cell until it breaks.
    fn for_each(&self, row: &mut dyn FnMut(CellRow<'_>) -> ControlFlow<()>) -> Result<(), RowError> {
        self.for_each_in(0..u64::MAX, row)
    }

    /// The output of a cell, where it has one.
    fn output(&self, ordinal: u64) -> Result<Option<serde_json::Value>, RowError>;
}
