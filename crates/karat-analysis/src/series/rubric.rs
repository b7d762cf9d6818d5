//! Axes, weights and caps of a metric, from the plan.

use karat_types::{Better, Dimension, Overall, OverallMethod, PlanHeader, Rubric, ScorerKind};

/// An axis of the composite.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisSpec {
    /// The dimension.
    pub name: String,
    /// Its metric.
    pub metric: String,
    /// One line about it.
    pub definition: Option<String>,
    /// Lowest and highest possible value.
    pub range: Option<(f64, f64)>,
    /// Direction.
    pub better: Better,
    /// Its share of the composite, if that is a weighted mean.
    pub weight: Option<f64>,
}

/// A cap of the rubric.
#[derive(Debug, Clone, PartialEq)]
pub struct CapRule {
    /// Its id.
    pub id: String,
    /// The rule as text.
    pub rule: String,
    /// The condition as an expression.
    pub when: String,
}

/// The axes of a composite and how they make it up.
#[derive(Debug, Clone, Default)]
pub(super) struct Composition {
    pub(super) axes: Vec<AxisSpec>,
    pub(super) caps: Vec<CapRule>,
    /// The composite's own name among figures before caps.
    pub(super) overall: Option<Overall>,
}

/// Reads the scorer of a metric. Without a rubric the axes are the scorer's other metrics, and there are no weights.
pub(super) fn read(plan: &PlanHeader, metric: &str) -> Composition {
    let Some(spec) = plan.metric(metric).and_then(|at| plan.metrics.get(at)) else { return Composition::default() };
    let Some(scorer) = plan.scorers.get(spec.scorer) else { return Composition::default() };
    match &scorer.kind {
        ScorerKind::Rubric(of) => of_rubric(plan, &scorer.id, &of.rubric, metric),
        ScorerKind::Metric { .. } => {
            let own = plan.metrics.iter().filter(|it| it.scorer == spec.scorer && it.name != metric);
            let axes = own.map(|it| AxisSpec {
                name: it
                    .name
                    .strip_prefix(&scorer.id)
                    .and_then(|rest| rest.strip_prefix('.'))
                    .unwrap_or(&it.name)
                    .to_owned(),
                metric: it.name.clone(),
                definition: None,
                range: it.range,
                better: it.better,
                weight: None,
            });
            Composition { axes: axes.collect(), ..Composition::default() }
        }
    }
}

fn of_rubric(plan: &PlanHeader, scorer: &str, rubric: &Rubric, metric: &str) -> Composition {
    // A metric of a single dimension is made up of nothing else.
    let overall = rubric.overall.clone().filter(|overall| metric == format!("{scorer}.{}", overall.id));
    let total: f64 = rubric.dimensions.iter().map(|dimension| dimension.weight).sum();
    let number = rubric.dimensions.len() as f64;
    let weight = |dimension: &Dimension| match overall.as_ref()?.method {
        OverallMethod::WeightedMean => Some(dimension.weight / total).filter(|weight| weight.is_finite()),
        OverallMethod::Mean => Some(1.0 / number),
        OverallMethod::Sum => Some(1.0),
        OverallMethod::Min | OverallMethod::Given => None,
    };
    let axis = |dimension: &Dimension| {
        let name = format!("{scorer}.{}", dimension.name);
        let spec = plan.metric(&name).and_then(|at| plan.metrics.get(at));
        AxisSpec {
            name: dimension.name.clone(),
            definition: dimension.definition.clone(),
            range: spec.map_or(Some(dimension.scale.bounds()), |spec| spec.range),
            better: dimension.better,
            weight: weight(dimension),
            metric: name,
        }
    };
    let caps = rubric.caps.iter();
    Composition {
        axes: rubric.dimensions.iter().map(axis).filter(|axis| axis.metric != metric).collect(),
        caps: caps.map(|cap| CapRule { id: cap.id.clone(), rule: cap.rule(), when: cap.when.clone() }).collect(),
        overall,
    }
}
