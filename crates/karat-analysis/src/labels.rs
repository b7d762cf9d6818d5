//! People's labels beside a run's cells: which cell a label is about, and which number its words stand for.

use std::collections::BTreeMap;

use karat_types::{CellRow, Dimension, Label, MetricSpec, PlanHeader, Scale, ScorerKind};
use serde_json::Value;

/// Name of the rater of labels that name no annotator.
const PEOPLE: &str = "labels";

/// Labels by the sample that they are about.
#[derive(Debug)]
pub(crate) struct Labels<'a> {
    by_sample: BTreeMap<&'a str, Vec<(usize, &'a Label)>>,
}

impl<'a> Labels<'a> {
    pub(crate) fn new(labels: &'a [Label]) -> Self {
        let mut by_sample: BTreeMap<&str, Vec<(usize, &Label)>> = BTreeMap::new();
        for (at, label) in labels.iter().enumerate() {
            by_sample.entry(label.sample.as_str()).or_default().push((at, label));
        }
        Self { by_sample }
    }

    /// The labels of a cell's output, with their positions.
    pub(crate) fn about<'s>(
        &'s self,
        plan: &'s PlanHeader,
        row: &CellRow<'_>,
    ) -> impl Iterator<Item = (usize, &'a Label)> + 's {
        let (system, output) = (row.system, row.cell.output_hash);
        let of_sample = self.by_sample.get(row.sample.id.as_str()).into_iter().flatten().copied();
        of_sample.filter(move |(_, label)| {
            let model = plan.system_model(system).map(|model| model.id.as_str());
            let is = |wanted: &Option<String>, known: Option<&str>| wanted.is_none() || wanted.as_deref() == known;
            is(&label.model, model) && is(&label.variant, Some(plan.system_variant(system))) && label.is_about(output)
        })
    }
}

/// Who gave a label.
pub(crate) fn rater(label: &Label) -> &str {
    label.annotator.as_deref().unwrap_or(PEOPLE)
}

/// What a label says of the metrics of some scorers, by metric index: a label names a metric by its whole name, by the
/// last part of it, or by its dimension.
pub(crate) fn grades(plan: &PlanHeader, scorers: &[usize], label: &Label) -> Vec<(usize, f64)> {
    let mut found = Vec::new();
    for (name, said) in &label.scores {
        let is_it = |metric: &MetricSpec| {
            let last = metric.name.rsplit_once('.').map(|(_, last)| last);
            metric.name == *name || last == Some(name) || dimension(plan, metric).is_some_and(|it| it.name == *name)
        };
        let metrics = plan.metrics.iter().enumerate();
        for (at, metric) in metrics.filter(|(_, it)| scorers.contains(&it.scorer) && is_it(it)) {
            found.extend(number(plan, metric, said).map(|grade| (at, grade)));
        }
    }
    found
}

/// The number that a label's word stands for: itself, 0 or 1, or the value of a choice.
fn number(plan: &PlanHeader, metric: &MetricSpec, said: &Value) -> Option<f64> {
    match said {
        Value::Bool(holds) => Some(f64::from(u8::from(*holds))),
        Value::Number(number) => number.as_f64().filter(|it| it.is_finite()),
        Value::String(word) => match dimension_scale(plan, metric)? {
            Scale::Choices(choices) => {
                choices.iter().find(|(name, _)| name.eq_ignore_ascii_case(word.trim())).map(|(_, value)| *value)
            }
            Scale::Range { .. } => None,
        },
        _ => None,
    }
}

/// The scale of the rubric's dimension that a metric is.
pub(crate) fn dimension_scale<'p>(plan: &'p PlanHeader, metric: &MetricSpec) -> Option<&'p Scale> {
    dimension(plan, metric).map(|it| &it.scale)
}

/// The rubric's dimension that a metric is.
fn dimension<'p>(plan: &'p PlanHeader, metric: &MetricSpec) -> Option<&'p Dimension> {
    let ScorerKind::Rubric(judged) = &plan.scorers.get(metric.scorer)?.kind else { return None };
    let is_it = |dimension: &str| match metric.name.rsplit_once('.') {
        Some((_, last)) => last == dimension,
        None => judged.rubric.dimensions.len() == 1,
    };
    judged.rubric.dimensions.iter().find(|it| is_it(&it.name))
}
