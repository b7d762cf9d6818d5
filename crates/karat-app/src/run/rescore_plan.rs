//! Plans the scoring of an earlier run's outputs: with the plan's scorers, and those that only the earlier run has.

use std::sync::Arc;

use karat_suite::Plan;
use karat_types::{KeyBuilder, MetricSpec, PlanHeader, RunHeader, ScorerKind, ScorerSpec};

/// The scorers of a stored run that the suite no longer has.
#[derive(Default)]
pub(crate) struct AdoptedScorers {
    /// Scorers that are kept.
    pub kept: Vec<String>,
    /// Scorers that cannot be kept.
    pub lost: Vec<String>,
}

/// Turns a plan into one that scores the outputs of `source`, with the scorers that only `source` has.
pub(crate) fn rescore_plan(plan: &mut Plan, source: &RunHeader) -> AdoptedScorers {
    let header = Arc::make_mut(&mut plan.header);
    // All outputs there are get scored.
    header.run.stop_early = None;
    let mut adopted = AdoptedScorers::default();
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

/// Adds the judges of an older scorer to a plan. Returns `false` if the plan has a different judge with the same id.
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
