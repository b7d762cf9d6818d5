//! The rule that may stop a run early, and what a user reads of a stopped run.

use karat_analysis::gate::EarlyStop;
use karat_store::Store;
use karat_types::{GateRules, RunRows, StopRule};

use crate::AppError;
use crate::error::RunError;
use crate::runs::Runs;
use crate::runs::target::RunTarget;
use crate::stored::invocation::read_stored_invocation;

impl Runs<'_> {
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
        // Outputs that are scored again have the stop of their run.
        if found.outputs.is_some()
            || plan.run.stop_early.is_none()
            || measures_judges
            || stored.stop().is_some_and(|stop| stop.to_end)
        {
            return Ok(None);
        }
        if found.retry {
            // Its results change, and with them the place of the stop.
            store.forget_stop(&found.id)?;
        }
        let references = self.app.stored().references(&stored, rules, &mut Vec::new())?;
        let rule = EarlyStop::new(plan, rules, references).map_err(|problem| RunError::EarlyRule { problem })?;
        Ok(rule.map(|rule| Box::new(rule) as Box<dyn StopRule>))
    }

    /// The notice of a finished run that stopped early; `None` for a run that did not.
    pub fn early_stop(&self, run: &str) -> Result<Option<String>, AppError> {
        let store = self.app.existing_store()?;
        stopped_notice(&store, &store.resolve(run)?)
    }
}

/// The notice for a user who resumes a run that stopped early.
pub(crate) fn stopped_notice(store: &Store, run: &str) -> Result<Option<String>, AppError> {
    let stored = store.rows(run)?;
    let Some(stop) = stored.stop().filter(|stop| !stop.to_end) else { return Ok(None) };
    if let Some(source) = read_stored_invocation(stored.header())?.score_of {
        return Ok(Some(format!(
            "run {run} scores the outputs of run {source}, which stopped after {}: `karat resume {source} --to-end` makes the \
             rest, and `karat score {source}` scores it",
            stop.record.course()
        )));
    }
    Ok(stop.record.is_stopped().then(|| {
        format!(
            "run {run} stopped after {}, because its gates are decided: `karat resume {run} --to-end` makes the rest",
            stop.record.course()
        )
    }))
}
