//! The scales of metrics: the rubric dimension behind a metric, and its steps.

use karat_types::{Dimension, MetricSpec, PlanHeader, Scale, ScorerKind};

/// A scale with more steps counts as continuous.
const MOST_STEPS: f64 = 100.0;

/// The scale of the rubric dimension behind a metric.
pub(crate) fn dimension_scale<'p>(plan: &'p PlanHeader, metric: &MetricSpec) -> Option<&'p Scale> {
    dimension(plan, metric).map(|it| &it.scale)
}

/// The rubric dimension behind a metric.
pub(crate) fn dimension<'p>(plan: &'p PlanHeader, metric: &MetricSpec) -> Option<&'p Dimension> {
    let ScorerKind::Rubric(judged) = &plan.scorers.get(metric.scorer)?.kind else { return None };
    let is_it = |dimension: &str| match metric.name.rsplit_once('.') {
        Some((_, last)) => last == dimension,
        None => judged.rubric.dimensions.len() == 1,
    };
    judged.rubric.dimensions.iter().find(|it| is_it(&it.name))
}

/// The values that a metric can take, ascending, if its scale declares steps.
pub(crate) fn steps(plan: &PlanHeader, metric: &MetricSpec) -> Option<Vec<f64>> {
    if metric.binary {
        return Some(vec![0.0, 1.0]);
    }
    match dimension_scale(plan, metric)? {
        Scale::Choices(choices) => {
            let mut values: Vec<f64> = choices.iter().map(|(_, value)| *value).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            Some(values)
        }
        Scale::Range { lo, hi, step: Some(step) } if *step > 0.0 => {
            let steps = ((hi - lo) / step).round();
            (steps <= MOST_STEPS).then(|| (0..=steps as u32).map(|at| lo + f64::from(at) * step).collect())
        }
        Scale::Range { .. } => None,
    }
}
