//! The work that earlier parts of a run have left.

use karat_store::{DamagedRows, FinishedCells, Store, StoreError};
use karat_types::PlanHeader;

use crate::plan::systems::Systems;

/// The work that earlier parts of a run have finished, and whether failed parts are re-run.
pub(crate) struct Remaining {
    finished: FinishedCells,
    retry: bool,
}

/// The parts of a cell that are recorded.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecordedParts {
    /// The stage of the cell itself.
    pub stage: CellStage,
    /// Judgments by scorer and judge.
    pub judgments: Vec<(u16, u16)>,
}

/// The stage of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CellStage {
    /// Nothing is recorded, or it is re-run.
    #[default]
    New,
    /// It has its output; its scores are computed again.
    Made,
    /// It is recorded. Its output is found by its content.
    Recorded,
}

impl Remaining {
    /// Loads the state of a stored run.
    ///
    /// # Errors
    /// The run does not exist, or its rows cannot be read.
    pub fn load(store: &Store, run: &str, retry: bool) -> Result<Self, StoreError> {
        Ok(Self { finished: store.finished_cells(run)?, retry })
    }

    /// The rows that cannot be read. What they held is made again; reports refuse them.
    pub fn damage(&self) -> &DamagedRows {
        &self.finished.damage
    }

    /// The recorded parts of a cell; `None` when nothing is left to do.
    pub fn recorded_parts(&self, plan: &PlanHeader, systems: &Systems, ordinal: u64) -> Option<RecordedParts> {
        let finished = &self.finished;
        if !finished.cells.contains(ordinal) || self.retry && finished.errors.contains(ordinal) {
            return Some(RecordedParts::default());
        }
        let is_unscored = self.retry && finished.unscored.contains(ordinal);
        let no_output = finished.errors.contains(ordinal) || finished.skipped.contains(ordinal);
        let (row, system, _) = plan.place(ordinal);
        let judges = systems.judges.iter().filter(|judge| judge.is_asked(row, system));
        let (present, open): (Vec<_>, Vec<_>) =
            judges.map(|judge| (judge.scorer, judge.judge)).partition(|(scorer, judge)| {
                let is_retried = self.retry && finished.is_unscored(ordinal, *scorer, *judge);
                !is_retried && finished.has_judgment(ordinal, *scorer, *judge)
            });
        let stage = if is_unscored { CellStage::Made } else { CellStage::Recorded };
        (is_unscored || !no_output && !open.is_empty()).then_some(RecordedParts { stage, judgments: present })
    }

    /// Returns whether any cell has a row.
    pub fn has_rows(&self) -> bool {
        !self.finished.cells.is_empty()
    }

    /// Returns whether a cell has a row, including a failed one.
    pub fn has_row(&self, ordinal: u64) -> bool {
        self.finished.cells.contains(ordinal)
    }

    /// Returns whether the sample of a row is stored.
    pub fn has_sample(&self, row: u64) -> bool {
        self.finished.samples.contains(row)
    }

    /// The number of cells with nothing left to do.
    pub fn count_done(&self, plan: &PlanHeader, systems: &Systems) -> u64 {
        self.finished.cells.iter().filter(|ordinal| self.recorded_parts(plan, systems, *ordinal).is_none()).count()
            as u64
    }
}
