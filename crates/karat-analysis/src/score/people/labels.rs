//! People's labels: the cells that a label is about, and the number that its words stand for.

use std::collections::BTreeMap;

use karat_text::similar::nearest;
use karat_types::{CellRow, Label, MetricSpec, PlanHeader, Scale, ScorerKind};
use serde_json::Value;

use crate::score::scales::{dimension, dimension_scale, steps};

/// Rater name of labels without an annotator.
const PEOPLE: &str = "labels";

/// Returns true if a label is about the output of a cell.
pub(crate) fn is_about(plan: &PlanHeader, row: &CellRow<'_>, label: &Label) -> bool {
    let model = plan.system_model(row.system).map(|model| model.id.as_str());
    let is = |wanted: &Option<String>, known: Option<&str>| wanted.is_none() || wanted.as_deref() == known;
    label.sample == row.sample.id
        && is(&label.model, model)
        && is(&label.variant, Some(plan.system_variant(row.system)))
        && label.applies_to(row.cell.output_hash)
}

/// Labels by sample.
#[derive(Debug)]
pub(crate) struct LabelIndex<'a> {
    by_sample: BTreeMap<&'a str, Vec<(usize, &'a Label)>>,
}

impl<'a> LabelIndex<'a> {
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
        row: &'s CellRow<'_>,
    ) -> impl Iterator<Item = (usize, &'a Label)> + 's {
        let of_sample = self.by_sample.get(row.sample.id.as_str()).into_iter().flatten().copied();
        of_sample.filter(move |(_, label)| is_about(plan, row, label))
    }
}

/// The rater of a label.
pub(crate) fn rater(label: &Label) -> &str {
    label.annotator.as_deref().unwrap_or(PEOPLE)
}

/// The grades of a label for the metrics of some scorers, by metric index.
pub(crate) fn grades(plan: &PlanHeader, scorers: &[usize], label: &Label) -> Vec<(usize, f64)> {
    let graded = |(at, metric, said): (usize, &MetricSpec, &Value)| Some((at, label_number(plan, metric, said)?));
    labelled_metrics(plan, scorers, label).filter_map(graded).collect()
}

/// Allowed distance of a grade from a step: the rounding error of 0.1 × 3 in binary.
const ROUNDING: f64 = 1e-9;

/// Returns the problem of a label: a misspelt name, no name of a metric at all, or a value that is not a grade, is outside
/// the metric's range or between its steps. Other unknown names are reported by [`unknown_names`].
pub(crate) fn label_problem(plan: &PlanHeader, label: &Label) -> Option<String> {
    let all = all_scorers(plan);
    let metrics = plan.metrics.iter().map(|metric| metric.name.as_str());
    let parts = metrics.clone().filter_map(|name| Some(name.rsplit_once('.')?.1));
    let mut misspelt = unknown_names(plan, label)
        .filter_map(|name| Some((name, nearest(name, parts.clone().chain(metrics.clone()))?)));
    if let Some((name, meant)) = misspelt.next() {
        return Some(format!("the run has no metric `{name}` (did you mean `{meant}`?)"));
    }
    if unknown_names(plan, label).count() == label.scores.len() {
        return Some(no_known_metric(plan, label));
    }
    labelled_metrics(plan, &all, label).find_map(|(_, metric, said)| {
        let name = &metric.name;
        let Some(grade) = label_number(plan, metric, said) else {
            return Some(format!("`{name}` is {said}, which is not a grade{}", choices(plan, metric)));
        };
        if let Some((lo, hi)) = metric.range.filter(|(lo, hi)| !(*lo..=*hi).contains(&grade)) {
            return Some(format!("`{name}` is {said}, which is outside its scale from {lo} to {hi}"));
        }
        let steps = steps(plan, metric).filter(|steps| steps.iter().all(|step| (step - grade).abs() > ROUNDING))?;
        let steps: Vec<String> = steps.iter().map(|step| step.to_string()).collect();
        Some(format!("`{name}` is {said}, which is not a step of its scale ({})", steps.join(", ")))
    })
}

/// The message that a label names no metric, with the metrics that it could name.
fn no_known_metric(plan: &PlanHeader, label: &Label) -> String {
    let quoted =
        |names: &mut dyn Iterator<Item = &str>| names.map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ");
    let of_rubrics = plan
        .metrics
        .iter()
        .filter(|metric| matches!(plan.scorers.get(metric.scorer).map(|it| &it.kind), Some(ScorerKind::Rubric(_))));
    let known = quoted(&mut of_rubrics.map(|metric| metric.name.as_str()));
    match label.scores.is_empty() {
        true => format!("it has no score; the judges of this run score {known}"),
        false => format!(
            "the run has no metric {}; the judges of this run score {known}",
            quoted(&mut label.scores.keys().map(String::as_str))
        ),
    }
}

/// The names in a label that belong to no metric of the plan.
pub(crate) fn unknown_names<'a>(plan: &'a PlanHeader, label: &'a Label) -> impl Iterator<Item = &'a str> {
    let named = |name: &str| plan.metrics.iter().any(|metric| is_called(plan, metric, name));
    label.scores.keys().map(String::as_str).filter(move |name| !named(name))
}

fn all_scorers(plan: &PlanHeader) -> Vec<usize> {
    (0..plan.scorers.len()).collect()
}

/// Returns true if a name in a label refers to a metric: by its full name, its last part, or its dimension's name.
fn is_called(plan: &PlanHeader, metric: &MetricSpec, name: &str) -> bool {
    let last = metric.name.rsplit_once('.').map(|(_, last)| last);
    metric.name == name || last == Some(name) || dimension(plan, metric).is_some_and(|it| it.name == name)
}

/// The metrics of a scorer that a name in a label refers to.
pub(crate) fn metrics_called(plan: &PlanHeader, scorer: usize, name: &str) -> Vec<usize> {
    let metrics = plan.metrics.iter().enumerate();
    metrics.filter(|(_, it)| it.scorer == scorer && is_called(plan, it, name)).map(|(at, _)| at).collect()
}

/// The metrics of some scorers that a label names, with its values.
fn labelled_metrics<'a>(
    plan: &'a PlanHeader,
    scorers: &'a [usize],
    label: &'a Label,
) -> impl Iterator<Item = (usize, &'a MetricSpec, &'a Value)> {
    label.scores.iter().flat_map(move |(name, said)| {
        let metrics = plan.metrics.iter().enumerate();
        let named = metrics.filter(move |(_, it)| scorers.contains(&it.scorer) && is_called(plan, it, name));
        named.map(move |(at, metric)| (at, metric, said))
    })
}

/// ` (choices: yes, no)`, if the scale has named choices.
fn choices(plan: &PlanHeader, metric: &MetricSpec) -> String {
    match dimension_scale(plan, metric) {
        Some(Scale::Choices(choices)) => {
            let names: Vec<&str> = choices.iter().map(|(name, _)| name.as_str()).collect();
            format!(" (choices: {})", names.join(", "))
        }
        _ => String::new(),
    }
}

/// The number of a label's value: the number itself, 0 or 1 for a boolean, or the value of a named choice.
fn label_number(plan: &PlanHeader, metric: &MetricSpec, said: &Value) -> Option<f64> {
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
