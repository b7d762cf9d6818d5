//! Runs a stored run again: re-runs failed cells, or scores its outputs with the current scorers.

use std::sync::Arc;

use karat_store::Store;
use karat_types::{RunHeader, RunRows, RunStatus};

use crate::error::RunError;
use crate::runs::Runs;
use crate::runs::execution::check_id;
use crate::runs::rescore_plan::AdoptedScorers;
use crate::runs::target::RunTarget;
use crate::stored::invocation::read_stored_invocation;
use crate::{AppError, Execution, Invocation, RunEnd};

/// The changes for scoring a stored run again.
#[derive(Debug, Clone, Default)]
pub struct Rescoring {
    /// Suite file or preset whose scorers are used; the run's own if absent.
    pub suite: Option<String>,
    /// Judges, instead of the suite's.
    pub judges: Vec<String>,
    /// Settings of execution.
    pub execution: Invocation,
}

impl Runs<'_> {
    /// Re-runs the failed cells of a run: cells without an output, and unscored scores and judgments. Also makes the
    /// rest of an unfinished run.
    pub fn retry(&self, run: &str, later: &Invocation, execution: Execution) -> Result<RunEnd, AppError> {
        let store = Arc::new(self.app.existing_store()?);
        let header = store.run(&store.resolve(run)?)?;
        if self.has_nothing_to_retry(&store, &header)? {
            let notice = "no cell of this run failed: there is nothing to re-run";
            return Ok(RunEnd::of_finished(header, "retry", notice));
        }
        let (plan, invocation, found) = self.reopen(&store, header, later)?;
        self.run_phases(store, plan, &invocation, execution, RunTarget { retry: true, ..found })
    }

    /// Continues a run that stopped early to its end.
    ///
    /// # Errors
    /// A run that has not stopped early, and those of [`Runs::resume`].
    pub fn resume_to_end(&self, run: &str, later: &Invocation, execution: Execution) -> Result<RunEnd, AppError> {
        let store = Arc::new(self.app.existing_store()?);
        let header = store.run(&store.resolve(run)?)?;
        if let Some(of) = read_stored_invocation(&header)?.score_of {
            return Err(RunError::ScoredStop { run: header.id, of }.into());
        }
        match store.stop_of(&header.id)? {
            None => return Err(RunError::NotStopped { run: header.id }.into()),
            Some(stop) if stop.to_end && header.status == RunStatus::Finished => {
                let notice = "the run went to its end: there is nothing to resume";
                return Ok(RunEnd::of_finished(header, "resume", notice));
            }
            Some(_) => {}
        }
        let (plan, invocation, found) = self.reopen(&store, header, later)?;
        // Before the first call: whoever resumes the run after this makes the rest.
        store.continue_to_end(&found.id)?;
        self.run_phases(store, plan, &invocation, execution, found)
    }

    /// Returns whether a run is finished, and none of its cells failed.
    pub(crate) fn has_nothing_to_retry(&self, store: &Store, header: &RunHeader) -> Result<bool, AppError> {
        let finished = store.finished_cells(&header.id)?;
        let unscored =
            finished.judgments.values().any(|judged| !judged.unscored.is_empty()) || !finished.unscored.is_empty();
        let is_done = header.status == RunStatus::Finished && finished.errors.is_empty() && !unscored;
        Ok(is_done && store.is_whole(&header.id)?)
    }

    /// Scores the stored outputs of a run with the suite's current scorers, as a new run. No output is made; judges
    /// only grade what they have not graded yet. Scorers that the suite no longer has are kept.
    pub fn score(&self, run: &str, rescoring: &Rescoring, execution: Execution) -> Result<RunEnd, AppError> {
        let store = Arc::new(self.app.existing_store()?);
        let source = store.rows(&store.resolve(run)?)?;
        if let Some(shard) = source.header().shard() {
            return Err(RunError::ScoredShard { run: source.header().id.clone(), shard }.into());
        }
        let mut invocation = read_stored_invocation(source.header())?.invocation.with_execution(&rescoring.execution);
        invocation.suite = rescoring.suite.clone().unwrap_or(invocation.suite);
        if !rescoring.judges.is_empty() {
            invocation.overrides.judges.clone_from(&rescoring.judges);
        }
        let mut plan = self.load(&invocation)?;
        let AdoptedScorers { kept, lost } = crate::runs::rescore_plan::rescore_plan(&mut plan, &source);
        let id = match &execution.run_id {
            Some(id) => check_id(id)?,
            None => self.new_id(&plan.header),
        };
        let source_id = &source.header().id;
        let kept = sentence_for(&kept, |names| {
            format!("the suite no longer has {names}: scored as run {source_id} declared it")
        });
        let lost = sentence_for(&lost, |names| {
            format!("left out: {names} of run {source_id}, whose judge is another one now. `--judges` names judges")
        });
        let stopped = source.stop().filter(|stop| !stop.to_end && stop.record.is_stopped());
        let stopped: Vec<String> = stopped
            .map(|stop| {
                let course = stop.record.course();
                format!("run {source_id} stopped early, after {course}: only these enter figures, and its gates decide nothing here")
            })
            .into_iter()
            .collect();
        let notice = Some([kept, lost, stopped].concat().join("\n")).filter(|notice| !notice.is_empty());
        self.run_phases(
            store,
            plan,
            &invocation,
            execution,
            RunTarget { id, notice, outputs: Some(source), ..RunTarget::default() },
        )
    }
}

fn sentence_for(names: &[String], sentence: impl Fn(String) -> String) -> Vec<String> {
    (!names.is_empty()).then(|| sentence(names.join(", "))).into_iter().collect()
}
