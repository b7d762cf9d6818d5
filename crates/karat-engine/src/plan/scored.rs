//! The parts of a row that deterministic scorers compare with: a changed reference is another test, though no step reads it.

use std::collections::BTreeSet;

use karat_scoring::scorer::{MetricEntry, catalog};
use karat_text::template::Template;
use karat_types::{PlanHeader, Reads, ScorerKind, ScorerSpec};
use serde_json::{Map, Value};

/// The parts of a row that the plan's metrics read: their references, and columns in their options.
pub(crate) fn scored_reads(plan: &PlanHeader) -> Reads {
    let metrics = catalog();
    let mut names = BTreeSet::new();
    for scorer in &plan.scorers {
        if let ScorerKind::Metric { metric, with } = &scorer.kind {
            add_names(scorer, with, metrics.get(metric.as_str()), &mut names);
        }
    }
    Reads::new(names.iter().map(String::as_str))
}

fn add_names(
    scorer: &ScorerSpec,
    with: &Map<String, Value>,
    metric: Option<&MetricEntry>,
    names: &mut BTreeSet<String>,
) {
    let options = with.values().filter_map(Value::as_str);
    let computed = scorer.value.iter().filter_map(Value::as_str).chain(options).filter(|text| text.contains("{{"));
    names.extend(computed.filter_map(|text| Template::compile(text).ok()).flat_map(|it| it.reads().iter().cloned().collect::<Vec<_>>()));
    if scorer.value.is_some() {
        return;
    }
    if let Some(path) = &scorer.reference {
        // The paths of references are those of a row: `answer`, `$.gold.text`, `gold[0]`.
        names.insert(format!("sample.{}", path.trim_start_matches("$.")));
        return;
    }
    let instead = metric.and_then(|metric| metric.reference_unless);
    if instead.is_some_and(|options| !options.iter().any(|option| with.contains_key(*option))) {
        names.insert("reference".to_owned());
    }
}
