//! Follows a run by the rows that it writes. Each look reads what was added since the last.

use std::ops::ControlFlow;

use karat_store::{FollowPosition, Store, StoredRun};
use karat_types::{RunRows, RunStatus};

use crate::views::Views;
use crate::views::follow::counter::{CellCounter, FinishedCell};
use crate::views::follow::progress::Progress;
use crate::views::follow::speed::Speed;
use crate::views::show::cells::{CellLine, cell_line};
use crate::{App, AppError};

/// A watched run.
pub struct RunFollower {
    app: App,
    store: Store,
    rows: StoredRun,
    counter: CellCounter,
    speed: Speed,
    position: FollowPosition,
    /// True once the run has ended and its last row was read.
    has_ended: bool,
}

/// The result of a look.
#[derive(Debug)]
pub struct Look {
    /// The status of the run, as it is stored.
    pub status: RunStatus,
    /// Cells that were finished since the last look, in the order in which they were.
    pub finished: Vec<FinishedCell>,
    /// The progress of the run.
    pub progress: Progress,
    /// A number behind every change so far.
    pub seq: u64,
}

impl Look {
    /// Returns whether the run has ended; then no row follows.
    pub fn has_ended(&self) -> bool {
        self.status != RunStatus::Running
    }
}

impl Views<'_> {
    /// Follows a run from its beginning, whichever process writes it.
    ///
    /// # Errors
    /// There is no such run, or the store cannot be read.
    pub fn follow(&self, run: &str) -> Result<RunFollower, AppError> {
        let store = self.app.existing_store()?;
        let rows = store.rows(&store.resolve(run)?)?;
        Ok(RunFollower {
            app: self.app.clone(),
            counter: CellCounter::new(&rows.header().plan),
            store,
            rows,
            speed: Speed::default(),
            position: FollowPosition::default(),
            has_ended: false,
        })
    }
}

impl RunFollower {
    /// The id of the run.
    pub fn run(&self) -> &str {
        &self.rows.header().id
    }

    /// Reads what was added since the last look.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn look(&mut self) -> Result<Look, AppError> {
        // Read before the rows: once a run has ended, it has all of its rows.
        let status = self.store.run_status(&self.rows.header().id)?;
        let mut finished = Vec::new();
        let counter = &mut self.counter;
        self.position = self.store.follow(&self.rows.header().id, self.position, &mut |change| {
            finished.extend(counter.add(change));
        })?;
        let seq = self.position.end();
        if status == RunStatus::Finished && !self.has_ended {
            finished.extend(self.counter.end(seq));
        }
        self.has_ended = status != RunStatus::Running;
        let (plan, planned) = (&self.rows.header().plan, self.rows.header().planned_cells());
        let done = self.counter.done.len();
        self.speed.add(self.app.clock.now(), done);
        let outlook = self.speed.outlook(planned.saturating_sub(done)).filter(|_| !self.has_ended);
        let progress = Progress::of(&self.counter, planned, plan.run.budget_usd, outlook);
        Ok(Look { status, finished, progress, seq })
    }

    /// The line of a finished cell, with its scores.
    ///
    /// # Errors
    /// Its rows cannot be read.
    pub fn cell(&self, ordinal: u64) -> Result<Option<CellLine>, AppError> {
        let plan = &self.rows.header().plan;
        let mut line = None;
        self.rows.for_each_in(ordinal..ordinal + 1, &mut |row| {
            line = Some(cell_line(&self.rows, plan, &row, false));
            ControlFlow::Break(())
        })?;
        line.transpose()
    }
}
