//! Builds the rule that may stop a run early, and continues a stopped run to its end (SL-07, SL-08).

use std::sync::Arc;

use karat_analysis::gate::EarlyStop;
use karat_store::Store;
use karat_types::{GateRules, RunRows, RunStatus, StopRule};

use crate::error::RunError;
use crate::run::execution::{Execution, RunEnd};
use crate::run::stored_invocation::read_stored_invocation;
use crate::run::target::RunTarget;
use crate::{App, AppError, Invocation};

impl App {
    /// The rule of a run that may stop early; `None` for a run that goes to its end.
    ///
    /// # Errors
    /// Gates or results that they compare with cannot be read.
    pub(crate) fn stop_rule(
        &self,
        store: &Store,
        found: &RunTarget,
        rules: &GateRules,
    ) -> Result<Option<Box<dyn StopRule>>, AppError> {
        let stored = store.rows(&found.id)?;
        let plan = &stored.header().plan;
        // Rounds of calibration and golden checks measure judges: their samples are chosen, and all are wanted.
        let measures_judges =
            plan.run.measures_judges || read_stored_invocation(stored.header())?.invocation.calibrating.is_some();
        if plan.run.stop_early.is_none() || measures_judges || stored.stop().is_some_and(|stop| stop.to_end) {
            return Ok(None);
        }
        if found.retry {
            // Its results change, and with them the place of the stop.
            store.forget_stop(&found.id)?;
        }
        let references = self.references(&stored, rules, &mut Vec::new())?;
        let rule = EarlyStop::new(plan, rules, references).map_err(|problem| RunError::EarlyRule { problem })?;
        Ok(rule.map(|rule| Box::new(rule) as Box<dyn StopRule>))
    }

    /// Continues a run that stopped early to its end.
    ///
    /// # Errors
    /// A run that has not stopped early, and those of [`App::resume`].
    pub fn resume_to_end(&self, run: &str, later: &Invocation, execution: Execution) -> Result<RunEnd, AppError> {
        let store = Arc::new(self.existing_store()?);
        let header = store.run(&store.resolve(run)?)?;
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

    /// How a finished run stopped early; `None` for a run that did not.
    pub fn early_stop(&self, run: &str) -> Result<Option<String>, AppError> {
        let store = self.existing_store()?;
        stopped_notice(&store, &store.resolve(run)?)
    }
}

/// The notice for a user who resumes a run that stopped early.
pub(crate) fn stopped_notice(store: &Store, run: &str) -> Result<Option<String>, AppError> {
    let stored = store.rows(run)?;
    let Some(stop) = stored.stop().filter(|stop| !stop.to_end) else { return Ok(None) };
    Ok(stop.record.is_stopped().then(|| {
        format!(
            "run {run} stopped after {}, because its gates are decided: `karat resume {run} --to-end` makes the rest",
            stop.record.course()
        )
    }))
}
