//! The metric that stands for a run.

use karat_types::{PlanHeader, ScorerKind};

/// The metric that stands for the run: a rubric's composite, else one named `overall`, else the first that depends on
/// neither time nor price.
pub fn primary(plan: &PlanHeader) -> Option<usize> {
    let composite = plan.scorers.iter().find_map(|scorer| match &scorer.kind {
        ScorerKind::Rubric(rubric) => plan.metric(&format!("{}.{}", scorer.id, rubric.rubric.overall.as_ref()?.id)),
        ScorerKind::Metric { .. } => None,
    });
    let named = || plan.metrics.iter().position(|it| it.name == "overall" || it.name.ends_with(".overall"));
    let steady = || plan.metrics.iter().position(|it| !it.volatile);
    composite.or_else(named).or_else(steady)
}
