//! A run of the store: its rows, what its header and its first row say, and times as text.

use std::ops::ControlFlow;
use std::sync::Arc;

use karat_store::{RunSummary, Store, StoredRun};
use karat_types::{PlanHeader, RunRows, RunStatus, ScorerKind};

use crate::AppError;
use crate::error::StoredError;
use crate::stored::Stored;

/// A judge of a scorer, as indices of the plan.
pub(crate) type JudgeOfScorer = (u16, u16);

impl Stored<'_> {
    /// Opens the store, and makes it if it does not exist: what cannot be used is known before anyone asks for it.
    ///
    /// # Errors
    /// It cannot be opened, or made.
    pub fn prepare(&self) -> Result<(), AppError> {
        self.app.store_to_read().map(drop)
    }

    /// The rows of a run: an id, a prefix of one, or `latest`.
    pub(crate) fn run(&self, run: &str) -> Result<StoredRun, AppError> {
        let store = self.app.existing_store()?;
        Ok(store.rows(&store.resolve(run)?)?)
    }

    /// Returns whether a run has no cell yet.
    pub fn is_empty(&self, run: &str) -> Result<bool, AppError> {
        Ok(self.run(run)?.totals()?.cells == 0)
    }
}

/// Returns whether the first sample of a run has a date.
pub(crate) fn is_dated(stored: &StoredRun) -> Result<bool, AppError> {
    let mut is_dated = false;
    stored.for_each(&mut |row| {
        is_dated = row.sample.date.is_some();
        ControlFlow::Break(())
    })?;
    Ok(is_dated)
}

/// The plan of a suite's newest run.
pub(crate) fn newest_plan(store: &Store, suite: &str) -> Result<Arc<PlanHeader>, AppError> {
    match store.runs_of_suite(suite, 1)?.first() {
        Some(run) => Ok(store.run(run)?.plan),
        None => Err(no_runs(suite)),
    }
}

pub(crate) fn no_runs(suite: &str) -> AppError {
    StoredError::NoRuns { suite: suite.to_owned() }.into()
}

/// A moment as RFC 3339 in UTC; empty if it is out of range.
pub fn rfc3339(moment: karat_types::Moment) -> String {
    jiff::Timestamp::from_millisecond(moment.0).map_or_else(|_| String::new(), |moment| moment.to_string())
}

/// The number of finished cells of a run.
pub(crate) fn count_done(store: &Store, run: &RunSummary, plan: &PlanHeader) -> Result<u64, AppError> {
    if run.status == RunStatus::Finished {
        return Ok(run.totals.cells);
    }
    Ok(store.finished_cells(&run.id)?.count_done(&judges_of(plan)))
}

/// The judges of each scorer with a rubric.
pub(crate) fn judges_of(plan: &PlanHeader) -> Vec<JudgeOfScorer> {
    let index = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
    let mut judges = Vec::new();
    for (scorer, spec) in plan.scorers.iter().enumerate() {
        let ScorerKind::Rubric(rubric) = &spec.kind else { continue };
        let own = plan.judges.iter().enumerate().filter(|(_, judge)| rubric.judges.contains(&judge.id));
        judges.extend(own.map(|(judge, _)| (index(scorer), index(judge))));
    }
    judges
}
