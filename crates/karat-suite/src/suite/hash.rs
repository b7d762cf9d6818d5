//! Identities: content, never names of files.

use std::collections::{BTreeMap, BTreeSet};

use karat_types::{
    Action, Key, KeyBuilder, ModelSpec, PlanHeader, RecordedSpec, ScorerKind, ScorerSpec, ServiceSpec, SourceDigest,
    VariantSpec,
};
use serde_json::{Map, Value};

use crate::decode::scorers::FOLDER;
use crate::decode::scorers::nested::{CHECKS, CHECKS_OF, GIVEN, JOINED_FILE};
use crate::syntax::node::Node;

/// Hash of a suite file as written.
pub(crate) fn suite(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Hash of a dataset: the content of its sources, of every file that a column comes from, and what is done with them.
pub(crate) fn dataset(
    node: &Node,
    sources: &[SourceDigest],
    contents: &str,
    digests: &BTreeSet<String>,
    days: Option<&(String, String)>,
) -> String {
    let mut declared = node.json();
    if let Value::Object(map) = &mut declared {
        let without = ["source", "rows", "row_schema", "checks", "version", "changelog", "metadata", "broken"];
        map.retain(|key, _| !without.contains(&key.as_str()));
        let columns = map.get_mut("columns").and_then(Value::as_object_mut);
        for column in columns.into_iter().flat_map(|columns| columns.values_mut()).filter_map(Value::as_object_mut) {
            column.retain(|key, _| !["file", "lookup", "fetch", "with"].contains(&key.as_str()));
        }
    }
    let mut key = KeyBuilder::new("karat/dataset/1");
    for source in sources {
        key = key.text(&source.blake3);
    }
    for digest in digests {
        key = key.text(digest);
    }
    if let Some((first, last)) = days {
        key = key.text(first).text(last);
    }
    key.text(contents).json(&declared).finish().to_string()
}

/// Hash of everything that fixes cells and judgments. Concurrency, budgets, timeouts, retries, prices, analyses, gates
/// and words for people are not part of it; nor are the paths of files.
pub(crate) fn plan(
    header: &PlanHeader,
    recordings: &BTreeMap<String, String>,
    selection: &(Option<u64>, Vec<String>),
) -> Key {
    let variants: Vec<VariantSpec> = header.variants.iter().map(|variant| bare_variant(variant, recordings)).collect();
    let scorers: Vec<ScorerSpec> = header.scorers.iter().map(|scorer| bare_scorer(scorer, recordings)).collect();
    let mut key = KeyBuilder::new("karat/plan/1")
        .text(&header.suite)
        .text(&header.dataset.hash)
        .number(header.dataset.rows)
        .json(selection)
        .json(&variants)
        .json(&scorers)
        .json(&header.systems)
        .number(header.run.seed)
        .text(&header.tokenizer);
    for (id, service) in &header.services {
        key = key.text(id).json(&service.identity());
    }
    if !header.privacy.is_open() {
        key = key.json(&header.privacy);
    }
    if header.run.measures_judges {
        key = key.text("of the ruler");
    }
    for model in header.all_models() {
        key = model_key(key, model);
    }
    key.finish()
}

/// Describes the differences of two plans that affect cells and judgments.
pub fn describe_changes(then: &PlanHeader, now: &PlanHeader) -> Vec<String> {
    let models = |models: &[ModelSpec]| models.iter().fold(KeyBuilder::new("karat/models/1"), model_key).finish();
    let variants = |plan: &PlanHeader| -> Vec<VariantSpec> {
        // What is recorded is known by its content, which the plan of a stored run no longer has.
        plan.variants.iter().map(|variant| bare_variant(variant, &BTreeMap::new())).collect()
    };
    let scorers = |plan: &PlanHeader| -> Vec<ScorerSpec> {
        plan.scorers.iter().map(|scorer| bare_scorer(scorer, &BTreeMap::new())).collect()
    };
    let services = |plan: &PlanHeader| {
        let add = |key: KeyBuilder, (id, service): (&String, &ServiceSpec)| key.text(id).json(&service.identity());
        plan.services.iter().fold(KeyBuilder::new("karat/services/1"), add).finish()
    };
    let is_other_dataset = then.dataset.hash != now.dataset.hash;
    let selected = format!(
        "which rows are selected (it was started with {}, now there are {})",
        then.dataset.rows, now.dataset.rows
    );
    let parts = [
        (is_other_dataset, "the dataset"),
        (!is_other_dataset && then.dataset.rows != now.dataset.rows, &selected),
        (models(&then.models) != models(&now.models), "the models"),
        (variants(then) != variants(now), "the variants"),
        (services(then) != services(now), "the services"),
        (scorers(then) != scorers(now), "the scorers"),
        (models(&then.judges) != models(&now.judges), "the judges"),
        (models(&then.embedders) != models(&now.embedders), "the models that make vectors"),
        (then.params != now.params, "the params"),
        (then.trials != now.trials, "the trials"),
        (then.run.seed != now.run.seed, "the seed"),
        (then.privacy != now.privacy, "`privacy`"),
        (then.suite != now.suite, "the suite's name"),
    ];
    let changed: Vec<String> =
        parts.iter().filter(|(differs, _)| *differs).map(|(_, what)| (*what).to_owned()).collect();
    match changed.is_empty() {
        true => vec!["what is selected or recorded".to_owned()],
        false => changed,
    }
}

fn model_key(key: KeyBuilder, model: &ModelSpec) -> KeyBuilder {
    let key = key.text(&model.id).json(&model.identity()).number(model.context_window.unwrap_or(0));
    match model.sampling {
        Some(sampling) => key.json(&sampling),
        None => key,
    }
}

fn bare_variant(variant: &VariantSpec, recordings: &BTreeMap<String, String>) -> VariantSpec {
    let mut bare = variant.clone();
    for step in &mut bare.steps {
        *step = step.bare();
        if let Action::Recorded(RecordedSpec::File { from, .. }) = &mut step.action
            && let Some(identity) = recordings.get(from)
        {
            from.clone_from(identity);
        }
    }
    bare
}

fn bare_scorer(scorer: &ScorerSpec, recordings: &BTreeMap<String, String>) -> ScorerSpec {
    let mut bare = scorer.clone();
    (bare.margin, bare.about) = (None, None);
    match &mut bare.kind {
        ScorerKind::Rubric(rubric) => rubric.timeout_ms = None,
        ScorerKind::Metric { metric, with } => {
            with.remove(FOLDER);
            name_joined_content(metric, with, recordings);
        }
    }
    bare
}

/// Replaces the paths of files that metrics join by the identity of their content, also in lists of checks.
fn name_joined_content(metric: &str, with: &mut Map<String, Value>, recordings: &BTreeMap<String, String>) {
    if metric == GIVEN
        && let Some(Value::String(from)) = with.get_mut(JOINED_FILE)
        && let Some(identity) = recordings.get(from)
    {
        from.clone_from(identity);
    }
    let checks = with.get_mut(CHECKS_OF).filter(|_| metric == CHECKS).and_then(Value::as_array_mut);
    for check in checks.into_iter().flatten().filter_map(Value::as_object_mut) {
        let metric = check.get("metric").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some(with) = check.get_mut("with").and_then(Value::as_object_mut) {
            name_joined_content(&metric, with, recordings);
        }
    }
}
