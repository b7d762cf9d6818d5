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
    for template in computed.filter_map(|text| Template::compile(text).ok()) {
        names.extend(template.reads().iter().cloned());
    }
    if scorer.value.is_some() {
        return;
    }
    if let Some(path) = &scorer.reference {
        // The paths of references are those of a row: `answer`, `$.gold.text`, `gold[0]`.
        names.insert(format!("sample.{}", path.trim_start_matches("$.")));
        return;
    }
    let instead = metric.and_then(|metric| metric.traits.reference_unless);
    if instead.is_some_and(|options| !options.iter().any(|option| with.contains_key(*option))) {
        names.insert("reference".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// BC-06: what metrics compare with is read of a row: its reference, a column, or columns in their options.
    #[test]
    fn metrics_read_what_they_compare_with() {
        let metrics = catalog();
        let of = |metric: &str, scorer: &dyn Fn(&mut ScorerSpec), with: Value| {
            let with = with.as_object().unwrap().clone();
            let kind = ScorerKind::Metric { metric: metric.to_owned(), with: with.clone() };
            let mut spec = ScorerSpec::new("s", kind);
            scorer(&mut spec);
            let mut names = BTreeSet::new();
            add_names(&spec, &with, metrics.get(metric), &mut names);
            names.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(of("exact", &|_| {}, json!({})), ["reference"]);
        assert_eq!(of("exact", &|it| it.reference = Some("$.gold.text".to_owned()), json!({})), ["sample.gold.text"]);
        assert_eq!(of("exact", &|it| it.value = Some(json!("yes")), json!({})), Vec::<String>::new());
        assert_eq!(of("exact", &|it| it.value = Some(json!("{{ sample.answer }}")), json!({})), ["sample.answer"]);
        assert_eq!(of("latency", &|_| {}, json!({})), Vec::<String>::new());
    }
}
