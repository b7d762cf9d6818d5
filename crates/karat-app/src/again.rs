//! A stored run once more: what failed is made again, or its outputs are scored with today's scorers.

use std::sync::Arc;

use karat_types::{Money, RunRows, RunStatus};

use crate::adopted::Adopted;
use crate::begun::begun;
use crate::found::Found;
use crate::run::check_id;
use crate::{App, AppError, Execution, Invocation, RunEnd};

/// What is different when a stored run is scored again.
#[derive(Debug, Clone, Default)]
pub struct Rescoring {
    /// Suite file or preset whose scorers are used; the run's own without it.
    pub suite: Option<String>,
    /// Judges, instead of the suite's.
    pub judges: Vec<String>,
    /// Settings of execution.
    pub execution: Invocation,
}

impl App {
    /// Makes again what a run could not make: cells without an output, and scores and judgments that are unscored. What
    /// is left of an unfinished run is made too.
    pub fn retry(&self, run: &str, later: &Invocation, execution: Execution) -> Result<RunEnd, AppError> {
        let store = Arc::new(self.existing_store()?);
        let header = store.run(&store.resolve(run)?)?;
        let finished = store.finished_cells(&header.id)?;
        let unscored = finished.judgments.values().any(|judged| !judged.unscored.is_empty())
            || !store.unscored_cells(&header.id)?.is_empty();
        if header.status == RunStatus::Finished && finished.errors.is_empty() && !unscored {
            return Ok(RunEnd {
                run: header.id,
                command: "retry",
                status: RunStatus::Finished,
                calls: 0,
                requests: 0,
                spent: Money::ZERO,
                simulated: header.plan.is_simulated(),
                unpriced: 0,
                stopped: None,
                overspent: None,
                notice: Some("nothing in this run failed: there is nothing to make again".to_owned()),
            });
        }
        let (plan, invocation, found) = self.reopened(&store, header, later)?;
        self.go(store, plan, &invocation, execution, Found { retry: true, ..found })
    }

    /// Scores the stored outputs of a run with the scorers that its suite has now, as a run of its own. No output is
    /// made; judges are asked for what they have not judged yet. Scorers that the suite no longer has are kept.
    pub fn score(&self, run: &str, rescoring: &Rescoring, execution: Execution) -> Result<RunEnd, AppError> {
        let store = Arc::new(self.existing_store()?);
        let source = store.rows(&store.resolve(run)?)?;
        let mut invocation = begun(source.header())?.invocation.with_execution(&rescoring.execution);
        invocation.suite = rescoring.suite.clone().unwrap_or(invocation.suite);
        if !rescoring.judges.is_empty() {
            invocation.judges.clone_from(&rescoring.judges);
        }
        let mut plan = self.load(&invocation)?.plan;
        let Adopted { kept, lost } = crate::adopted::rescoring(&mut plan, source.header());
        let id = match &execution.run_id {
            Some(id) => check_id(id)?,
            None => self.new_id(&plan.header),
        };
        let source_id = &source.header().id;
        let kept =
            said(&kept, |names| format!("the suite no longer has {names}: scored as run {source_id} declared it"));
        let lost = said(&lost, |names| {
            format!("left out: {names} of run {source_id}, whose judge is another one now. `--judges` names judges")
        });
        let notice = Some([kept, lost].concat().join("\n")).filter(|notice| !notice.is_empty());
        self.go(store, plan, &invocation, execution, Found { id, notice, outputs: Some(source), ..Found::default() })
    }
}

fn said(names: &[String], sentence: impl Fn(String) -> String) -> Vec<String> {
    (!names.is_empty()).then(|| sentence(names.join(", "))).into_iter().collect()
}
