//! What an earlier part of a run has left to do of each cell.

use karat_store::{FinishedCells, Store, StoreError};
use karat_types::PlanHeader;

use crate::systems::Systems;

/// What an earlier part of a run has done, and whether what failed of it is made again.
pub(crate) struct Remaining {
    finished: FinishedCells,
    retry: bool,
}

/// What an earlier part of the run has recorded of a cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Before {
    /// How far the cell itself is.
    pub stage: Stage,
    /// Judgments by scorer and judge.
    pub judgments: Vec<(u16, u16)>,
}

/// How far a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Stage {
    /// Nothing is there, or nothing that counts.
    #[default]
    New,
    /// It has its output, and its scores are made again.
    Made,
    /// It is recorded. Its output is found again by its content.
    Recorded,
}

impl Remaining {
    /// What is left of a stored run.
    ///
    /// # Errors
    /// The run is not there, or its rows cannot be read.
    pub fn of(store: &Store, run: &str, retry: bool) -> Result<Self, StoreError> {
        let mut finished = store.finished_cells(run)?;
        if retry {
            finished.unscored = store.unscored_cells(run)?;
        }
        Ok(Self { finished, retry })
    }

    /// What was done of a cell; `None` when nothing is left to do.
    pub fn before(&self, plan: &PlanHeader, systems: &Systems, ordinal: u64) -> Option<Before> {
        let finished = &self.finished;
        if !finished.cells.contains(ordinal) || self.retry && finished.errors.contains(ordinal) {
            return Some(Before::default());
        }
        let is_unscored = self.retry && finished.unscored.contains(ordinal);
        let no_output = finished.errors.contains(ordinal) || finished.skipped.contains(ordinal);
        let (_, system, _) = plan.place(ordinal);
        let judges = systems.judges.iter().filter(|judge| judge.is_asked(system));
        let (present, open): (Vec<_>, Vec<_>) =
            judges.map(|judge| (judge.scorer, judge.judge)).partition(|(scorer, judge)| {
                let is_retried = self.retry && finished.is_unscored(ordinal, *scorer, *judge);
                !is_retried && finished.has_judgment(ordinal, *scorer, *judge)
            });
        let stage = if is_unscored { Stage::Made } else { Stage::Recorded };
        (is_unscored || !no_output && !open.is_empty()).then_some(Before { stage, judgments: present })
    }

    /// Whether a cell has a row, a failed one included.
    pub fn has_row(&self, ordinal: u64) -> bool {
        self.finished.cells.contains(ordinal)
    }

    /// How many of the cells with a row have nothing left to do.
    pub fn done(&self, plan: &PlanHeader, systems: &Systems) -> u64 {
        self.finished.cells.iter().filter(|ordinal| self.before(plan, systems, *ordinal).is_none()).count() as u64
    }
}
