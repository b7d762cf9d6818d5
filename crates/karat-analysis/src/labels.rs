//! People's labels beside a run's cells: which cell a label is about, and which number its words stand for.

use std::collections::BTreeMap;

use karat_types::{CellRow, Label, MetricSpec, PlanHeader, Scale};
use serde_json::Value;

use crate::scales::{dimension, dimension_scale};

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

/// What a label says of the metrics of some scorers, by metric index.
pub(crate) fn grades(plan: &PlanHeader, scorers: &[usize], label: &Label) -> Vec<(usize, f64)> {
    let graded = |(at, metric, said): (usize, &MetricSpec, &Value)| Some((at, number(plan, metric, said)?));
    said(plan, scorers, label).filter_map(graded).collect()
}

/// Why a label cannot be right: something that is no grade of the metric, or lies outside its range. Names of no metric
/// are not its affair.
pub(crate) fn misfit(plan: &PlanHeader, label: &Label) -> Option<String> {
    let scorers: Vec<usize> = (0..plan.scorers.len()).collect();
    said(plan, &scorers, label).find_map(|(_, metric, said)| {
        let name = &metric.name;
        let Some(grade) = number(plan, metric, said) else {
            return Some(format!("`{name}` is {said}, which is no grade{}", choices(plan, metric)));
        };
        let (lo, hi) = metric.range.filter(|(lo, hi)| !(*lo..=*hi).contains(&grade))?;
        Some(format!("`{name}` is {said}, and its scale goes from {lo} to {hi}"))
    })
}

/// The metrics of some scorers that a label is about, with what it says: it names a metric by its whole name, by the last
/// part of it, or by its dimension.
fn said<'a>(
    plan: &'a PlanHeader,
    scorers: &'a [usize],
    label: &'a Label,
) -> impl Iterator<Item = (usize, &'a MetricSpec, &'a Value)> {
    label.scores.iter().flat_map(move |(name, said)| {
        let is_it = move |metric: &MetricSpec| {
            let last = metric.name.rsplit_once('.').map(|(_, last)| last);
            metric.name == *name || last == Some(name) || dimension(plan, metric).is_some_and(|it| it.name == *name)
        };
        let metrics = plan.metrics.iter().enumerate();
        let named = metrics.filter(move |(_, it)| scorers.contains(&it.scorer) && is_it(it));
        named.map(move |(at, metric)| (at, metric, said))
    })
}

/// ` (choices: yes, no)`, where the scale has names.
fn choices(plan: &PlanHeader, metric: &MetricSpec) -> String {
    match dimension_scale(plan, metric) {
        Some(Scale::Choices(choices)) => {
            let names: Vec<&str> = choices.iter().map(|(name, _)| name.as_str()).collect();
            format!(" (choices: {})", names.join(", "))
        }
        _ => String::new(),
    }
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
