//! `slices`: figures of each part of the dataset, by value of a metadata column.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_types::{AnalysisSpec, PlanHeader};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::AnalysisError;
use crate::analyses::{Analysis, FinishContext, Outcome, ScoredCell, options, options_error};
use crate::infer::finding::Finding;
use crate::score::instrument::metric_names::matches_pattern;

/// Number of slices kept, largest first.
const KEPT: usize = 200;

/// Options of `slices`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SlicesOptions {
    /// Columns of the dataset's `metadata` to slice by, each separately.
    pub by: Vec<String>,
    /// Metrics, by name or prefix followed by `*`; default: all.
    pub metrics: Vec<String>,
}

/// One part of the dataset.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slice {
    /// The value shared by its rows; null for rows without one.
    pub value: Value,
    /// Its samples.
    pub samples: u64,
    /// By metric: equal-weight mean over systems.
    pub metrics: BTreeMap<String, Finding>,
}

/// Parts by column, the largest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(transparent)]
pub struct Slices {
    /// By column.
    pub by: BTreeMap<String, Vec<Slice>>,
}

impl Slices {
    /// Removes metrics that depend on time or price.
    pub fn steady(&self, plan: &PlanHeader) -> Self {
        let volatile = |name: &String| plan.metrics.iter().any(|metric| metric.volatile && metric.name == *name);
        let mut steady = self.clone();
        steady.by.values_mut().flatten().for_each(|slice| slice.metrics.retain(|name, _| !volatile(name)));
        steady
    }
}

struct SlicesFold {
    columns: Vec<String>,
    metrics: Vec<String>,
    /// By column: the samples of each value, by its JSON.
    parts: Vec<BTreeMap<String, Vec<usize>>>,
    last: Option<usize>,
}

pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    _: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    let options: SlicesOptions = options(spec)?;
    if options.by.is_empty() {
        return Err(options_error(spec, "by is empty: list columns of the dataset's `metadata`"));
    }
    let parts = vec![BTreeMap::new(); options.by.len()];
    Ok(Some(Box::new(SlicesFold { columns: options.by, metrics: options.metrics, parts, last: None })))
}

impl Analysis for SlicesFold {
    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        if self.last.replace(cell.sample) == Some(cell.sample) {
            return;
        }
        for (column, parts) in self.columns.iter().zip(&mut self.parts) {
            let value = cell.row.sample.metadata.get(column).unwrap_or(&Value::Null);
            parts.entry(value.to_string()).or_default().push(cell.sample);
        }
    }

    fn finish(self: Box<Self>, context: &FinishContext<'_>) -> Outcome {
        let wanted = |name: &str| self.metrics.is_empty() || self.metrics.iter().any(|it| matches_pattern(it, name));
        let metrics: Vec<usize> =
            context.plan.metrics.iter().enumerate().filter(|(_, it)| wanted(&it.name)).map(|(at, _)| at).collect();
        let by = self.columns.iter().zip(&self.parts).map(|(column, parts)| {
            let mut slices: Vec<Slice> =
                parts.iter().map(|(value, samples)| slice(value, samples, &metrics, context)).collect();
            slices
                .sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.value.to_string().cmp(&b.value.to_string())));
            slices.truncate(KEPT);
            (column.clone(), slices)
        });
        Outcome::Slices(Slices { by: by.collect() })
    }
}

fn slice(value: &str, samples: &[usize], metrics: &[usize], context: &FinishContext<'_>) -> Slice {
    let figure = |metric: &usize| {
        let (spec, measure) = (context.plan.metrics.get(*metric)?, context.measures.get(*metric)?);
        let mut observed = context.table.placed_observations(*metric);
        observed.is_part = true;
        for sample in samples {
            for system in 0..context.plan.systems.len() {
                if let Some(score) = context.table.figure_value(*metric, *sample, system) {
                    let labels = context.table.labels(*metric, *sample, system);
                    observed.push_labelled(score, labels, system, context.table.cluster(*sample));
                    observed.push_place(*sample, system, system);
                }
            }
        }
        Some((spec.name.clone(), measure.figure(&observed)?))
    };
    Slice {
        value: serde_json::from_str(value).unwrap_or_default(),
        samples: samples.len() as u64,
        metrics: metrics.iter().filter_map(figure).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sketch;
    use crate::{Options, analyse};
    use serde_json::json;

    /// Invariant: every mean of a slice has its n, interval and method.
    #[test]
    fn parts_of_the_dataset_have_their_own_figures() {
        let sketch = Sketch::new(1, 1, 4).value(0, 0, 2.0).value(1, 0, 4.0).value(2, 0, 9.0).value(3, 0, 9.5);
        let mut run = sketch.analysis("slices", "by_topic", json!({ "by": ["topic"] })).run();
        for (sample, topic) in run.samples.iter_mut().zip([json!("iron"), json!("iron"), json!("oats"), Value::Null]) {
            sample.metadata.insert("topic".to_owned(), topic);
        }
        let findings = analyse(&run, &Options::default()).unwrap();
        let Outcome::Slices(found) = &findings.analyses[0].outcome else { panic!("no slices") };
        let topics = &found.by["topic"];
        assert_eq!(
            topics.iter().map(|it| (it.value.clone(), it.samples)).collect::<Vec<_>>(),
            [(json!("iron"), 2), (json!("oats"), 1), (Value::Null, 1)]
        );
        let iron = &topics[0].metrics["quality.overall"];
        assert_eq!((iron.value(), iron.n(), iron.method()), (3.0, 2, "t"));
        let unnamed = Sketch::new(1, 1, 1).fill(1.0).analysis("slices", "s", json!({})).run();
        assert!(analyse(&unnamed, &Options::default()).unwrap_err().to_string().contains("metadata"));
    }
}
