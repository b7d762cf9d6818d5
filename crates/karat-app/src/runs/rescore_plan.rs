//! Plans the scoring of an earlier run's outputs: with the plan's scorers, and those that only the earlier run has.

use std::sync::Arc;

use karat_analysis::system_id;
use karat_suite::Plan;
use karat_types::{KeyBuilder, MetricSpec, PlanHeader, RunRows, ScorerKind, ScorerSpec, StopRecord, StopSpan};

/// The scorers of a stored run that the suite no longer has.
#[derive(Default)]
pub(crate) struct AdoptedScorers {
    /// Scorers that are kept.
    pub kept: Vec<String>,
    /// Scorers that cannot be kept.
    pub lost: Vec<String>,
}

/// Turns a plan into one that scores the outputs of `source`, with the scorers that only `source` has.
pub(crate) fn rescore_plan(plan: &mut Plan, source: &dyn RunRows) -> AdoptedScorers {
    let header = Arc::make_mut(&mut plan.header);
    // All outputs there are get scored. Those after the stop of their run stay out of figures.
    header.run.stop_early = inherited_stop(source, header).and(source.header().plan.run.stop_early.clone());
    let source = source.header();
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

/// The stop of a run whose outputs are scored, as a stop of the scoring: the cells that enter figures, without verdicts,
/// which were on other scores. `None` for a run that did not stop early, or went on to its end.
pub(crate) fn inherited_stop(source: &dyn RunRows, plan: &PlanHeader) -> Option<StopRecord> {
    let stop = source.stop().filter(|stop| !stop.to_end && stop.record.is_stopped())?;
    let before = &source.header().plan;
    let system = |at: &usize| {
        let id = system_id(before, *at);
        (0..plan.systems.len()).find(|now| system_id(plan, *now) == id)
    };
    let span = |span: &StopSpan| StopSpan {
        systems: span.systems.iter().filter_map(system).collect(),
        partners: span.partners.iter().filter_map(system).collect(),
        ..span.clone()
    };
    let spans = stop.record.spans.iter().map(span).collect();
    Some(StopRecord { open: Vec::new(), claims: Vec::new(), race: Vec::new(), spans, ..stop.record.clone() })
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
