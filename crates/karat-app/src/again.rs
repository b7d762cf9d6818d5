//! A stored run once more: what failed is made again, or its outputs are scored with today's scorers.

use std::sync::Arc;

use karat_suite::Plan;
use karat_types::{KeyBuilder, MetricSpec, Money, PlanHeader, RunHeader, RunRows, RunStatus, ScorerKind, ScorerSpec};

use crate::run::{Found, begun, check_id};
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
        let finished = store.finished(&header.id)?;
        let unscored = finished.judgments.values().any(|judged| !judged.unscored.is_empty())
            || !store.unscored(&header.id)?.is_empty();
        if header.status == RunStatus::Finished && finished.errors.is_empty() && !unscored {
            return Ok(RunEnd {
                run: header.id,
                status: RunStatus::Finished,
                calls: 0,
                spent: Money::ZERO,
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
        let Adopted { kept, lost } = self::rescoring(&mut plan, source.header());
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

/// The scorers of a stored run that the suite no longer has.
#[derive(Default)]
pub(crate) struct Adopted {
    /// Those that are scored on.
    kept: Vec<String>,
    /// Those that cannot be.
    lost: Vec<String>,
}

/// Turns a plan into one that scores the outputs of `source`, with the scorers that only `source` has.
pub(crate) fn rescoring(plan: &mut Plan, source: &RunHeader) -> Adopted {
    let header = Arc::make_mut(&mut plan.header);
    let mut adopted = Adopted::default();
    for (at, scorer) in source.plan.scorers.iter().enumerate() {
        if header.scorers.iter().any(|known| known.id == scorer.id) {
            continue;
        }
        let name = format!("`{}`", scorer.id);
        if !adopt_judges(header, scorer, &source.plan) {
            adopted.lost.push(name);
            continue;
        }
        let metrics = source.plan.metrics.iter().filter(|metric| metric.scorer == at);
        let metrics: Vec<_> =
            metrics.map(|metric| MetricSpec { scorer: header.scorers.len(), ..metric.clone() }).collect();
        header.metrics.extend(metrics);
        header.scorers.push(scorer.clone());
        adopted.kept.push(name);
    }
    let key = KeyBuilder::new("karat/rescoring/1").key(header.plan_hash).text(&source.id);
    header.plan_hash = key.json(&adopted.kept).finish();
    adopted
}

/// Adds the judges of an older scorer to a plan. `false` when the plan has another judge of the same id.
fn adopt_judges(plan: &mut PlanHeader, scorer: &ScorerSpec, source: &PlanHeader) -> bool {
    let ScorerKind::Rubric(rubric) = &scorer.kind else { return true };
    let judges = || source.judges.iter().filter(|judge| rubric.judges.contains(&judge.id));
    let is_another = judges().any(|judge| plan.judges.iter().any(|known| known.id == judge.id && known != judge));
    if !is_another {
        let new: Vec<_> = judges().filter(|judge| !plan.judges.contains(judge)).cloned().collect();
        plan.judges.extend(new);
    }
    !is_another
}
