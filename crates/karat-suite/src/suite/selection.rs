//! Selection of the variants, models, scorers and analyses that take part in the run.

use std::collections::BTreeMap;

use karat_types::{AnalysisSpec, Gate, ModelSpec, ScorerKind, ScorerSpec, Subject, VariantSpec};
use serde_json::{Map, Value};

use crate::dataset::Dataset;
use crate::dataset::checks::row_checks;
use crate::decode::Decoder;
use crate::decode::models::report_unknown_id;
use crate::diagnostics::Problems;
use crate::overrides::Overrides;
use crate::registry::Registry;
use crate::syntax::node::{Node, Place};

/// Returns the selected variants: those of the command line, else those of `run.variants`, else all. The name of a swept
/// variant selects all variants of the sweep.
pub(super) fn select_variants(
    all: Vec<VariantSpec>,
    declared: Option<&Node>,
    overrides: &Overrides,
    decoder: &mut Decoder<'_>,
) -> Vec<VariantSpec> {
    let mut wanted: Vec<(String, Place)> =
        overrides.variants.iter().map(|name| decoder.on_command_line("--variants", name)).collect();
    if wanted.is_empty() {
        let nodes = declared.map(Node::items).unwrap_or_default().iter();
        wanted = nodes.filter_map(|node| Some((decoder.name_by_params(node)?, node.place.clone()))).collect();
    }
    if wanted.is_empty() {
        return all;
    }
    let is = |variant: &VariantSpec, name: &str| {
        variant.id == name || variant.id.strip_prefix(name).is_some_and(|rest| rest.starts_with('{'))
    };
    for (name, place) in wanted.iter().filter(|(name, _)| !all.iter().any(|variant| is(variant, name))) {
        let known: Vec<&str> = all.iter().map(|variant| variant.id.as_str()).collect();
        report_unknown_id("variant", name, &known, place, &mut decoder.problems);
    }
    all.into_iter().filter(|variant| wanted.iter().any(|(name, _)| is(variant, name))).collect()
}

/// Reports a variant that calls a model where no model is named, and models that no variant calls.
pub(super) fn check_models(
    node: &Node,
    variants: &[VariantSpec],
    models: &[ModelSpec],
    known: &Registry,
    may_lack: bool,
    decoder: &mut Decoder<'_>,
) {
    let calling = variants.iter().find(|variant| variant.calls_matrix_model());
    let had_any = node.field("models").is_some_and(|list| !list.items().is_empty() || list.text().is_some());
    match calling {
        Some(variant) if models.is_empty() && !had_any => {
            let place = node.field("variants").map_or(&node.place, |variants| &variants.place);
            let message = format!("the variant `{}` calls a model, but no model is named", variant.id);
            let problem = match may_lack {
                true => decoder.problems.warn(place, format!("{message}: `run` refuses until one is")),
                false => decoder.problems.error(place, message),
            };
            problem.hint(format!("add `models:`, or pass --models; for a first comparison: {}", known.starter_ids()));
        }
        None if !models.is_empty() && !variants.is_empty() && decoder.problems.errors() == 0 => {
            let place = node.field("models").map_or(&node.place, |models| &models.place);
            decoder.problems.warn(place, "no variant calls a model, so these models are not used");
        }
        _ => {}
    }
}

/// Refuses a variant that makes a system of an earlier one's name, which is `MODEL/VARIANT`, or `VARIANT` without a model.
pub(super) fn refuse_doubled_systems(
    node: &Node,
    variants: &[VariantSpec],
    models: &[ModelSpec],
    problems: &mut Problems,
) {
    let mut earlier: BTreeMap<String, &str> = BTreeMap::new();
    for variant in variants {
        let names = match variant.calls_matrix_model() {
            true => models.iter().map(|model| format!("{}/{}", model.id, variant.id)).collect(),
            false => vec![variant.id.clone()],
        };
        for name in names {
            let Some(other) = earlier.get(name.as_str()).filter(|other| **other != variant.id) else {
                earlier.insert(name, &variant.id);
                continue;
            };
            let at = node.field("variants").unwrap_or(node);
            let declared = at.entries().iter().find(|entry| entry.key == variant.id);
            problems
                .error(
                    declared.map_or(&at.place, |entry| &entry.place),
                    format!("the variants `{other}` and `{}` both make a system `{name}`", variant.id),
                )
                .hint("rename one of them");
        }
    }
}

/// A real judge that stands in for scripted ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenJudge {
    /// Its id.
    pub id: String,
    /// The families of the tested models, none of which is its own.
    pub families: Vec<String>,
}

impl ChosenJudge {
    /// The note on the choice.
    pub(super) fn note(&self) -> String {
        let other = match self.families.as_slice() {
            [] => String::new(),
            families => format!(", of another family than {}", families.join(", ")),
        };
        format!(
            "`{}` judges{other}: the suite's own judges are scripts, which grade no real model; --judges names another one",
            self.id
        )
    }
}

/// Returns the judge of a suite whose own judges are scripts that nobody named, where real models are tested: a real one of
/// another family.
///
/// # Errors
/// No model that may stand in is of another family.
pub(super) fn choose_judge(
    judges: &[ModelSpec],
    models: &[ModelSpec],
    overrides: &Overrides,
    known: &Registry,
) -> Result<Option<ChosenJudge>, String> {
    let Some(candidates) = &overrides.context.real_judges else { return Ok(None) };
    let is_named =
        !overrides.judges.is_empty() || overrides.set.iter().any(|(address, _)| address.starts_with("judges"));
    let real: Vec<&ModelSpec> = models.iter().filter(|model| !model.is_scripted()).collect();
    if is_named || real.is_empty() || !judges.iter().any(ModelSpec::is_scripted) {
        return Ok(None);
    }
    let mut families: Vec<String> = real.iter().filter_map(|model| model.family.clone()).collect();
    families.sort_unstable();
    families.dedup();
    let is_other = |judge: &ModelSpec| {
        !judge.is_scripted()
            && judge.family.as_ref().is_none_or(|family| !families.contains(family))
            && !real.iter().any(|model| model.id == judge.id)
    };
    let judge = candidates.iter().filter_map(|id| known.find(id)).find(|judge| is_other(judge));
    let none = || {
        format!(
            "the judges are scripts, which grade no real model, and no known judge is of another family than {}",
            families.join(", ")
        )
    };
    Ok(Some(ChosenJudge { id: judge.ok_or_else(none)?.id.clone(), families }))
}

/// Removes analyses that compare with a variant or model which is not selected. Returns a note for each.
pub(super) fn drop_baseless_analyses(
    analyses: &mut Vec<AnalysisSpec>,
    declared: &[String],
    variants: &[String],
    (overrides, models): (&Overrides, &[String]),
) -> Vec<String> {
    let mut notes = Vec::new();
    analyses.retain(|spec| {
        let Some(base) = spec.with.get("base").and_then(Value::as_str) else { return true };
        let is_there = |ids: &[String]| ids.iter().any(|id| id.split('{').next() == Some(base) || id == base);
        let of_models = spec.with.get("over").is_some_and(|over| over == "model");
        let absent = if of_models {
            (!overrides.models.is_empty() || overrides.tier.is_some()) && !is_there(models)
        } else {
            is_there(declared) && !is_there(variants)
        };
        if absent {
            notes.push(format!(
                "the analysis `{}` is skipped: it compares with `{base}`, which is not selected",
                spec.id
            ));
        }
        !absent
    });
    notes
}

/// Removes rubric scorers without judges. Returns a note for each.
pub(super) fn drop_unjudged(scorers: Vec<ScorerSpec>) -> (Vec<ScorerSpec>, Vec<String>) {
    let is_off = |scorer: &ScorerSpec| matches!(&scorer.kind, ScorerKind::Rubric(rubric) if rubric.judges.is_empty());
    let (off, on): (Vec<_>, Vec<_>) = scorers.into_iter().partition(is_off);
    let note = |scorer: &ScorerSpec| {
        format!("the scorer `{}` is off: it has no judge; name one under `judges` or with --judges", scorer.id)
    };
    (on, off.iter().map(note).collect())
}

/// Removes gates and analyses that read scores of scorers which are off, where judges are turned off on purpose. Returns a
/// note on what a later run decides.
pub(super) fn drop_judged(
    unjudged: &[String],
    gates: &mut Vec<Gate>,
    analyses: &mut Vec<AnalysisSpec>,
) -> Option<String> {
    let is_off = |name: &str| {
        unjudged
            .iter()
            .any(|id| name.strip_prefix(id.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    };
    let (all_gates, all_analyses) = (gates.len(), analyses.len());
    gates.retain(|gate| !matches!(&gate.subject, Subject::Metric(name) if is_off(name)));
    analyses.retain(|spec| !spec.with.values().any(|value| names_any(value, &is_off)));
    let (gates, analyses) = (all_gates - gates.len(), all_analyses - analyses.len());
    (gates + analyses > 0).then(|| {
        format!(
            "left out until judges grade these outputs: {gates} of {all_gates} gates and {analyses} of {all_analyses} analyses"
        )
    })
}

/// Returns whether a value names something, as a text or a key, at any depth.
fn names_any(value: &Value, is_named: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_named(text),
        Value::Array(items) => items.iter().any(|item| names_any(item, is_named)),
        Value::Object(members) => members.iter().any(|(key, value)| is_named(key) || names_any(value, is_named)),
        _ => false,
    }
}

/// Returns the scorer of the checks that rows hold for themselves, unless the suite has a scorer of that name.
pub(super) fn row_check_scorer(dataset: &Dataset, scorers: &[ScorerSpec]) -> Option<ScorerSpec> {
    let path = dataset.asserts.as_ref()?.path.to_string();
    let free = scorers.iter().all(|scorer| scorer.id != row_checks::COLUMN);
    let checks = || ScorerKind::Metric { metric: row_checks::COLUMN.to_owned(), with: Map::new() };
    free.then(|| ScorerSpec { reference: Some(path), ..ScorerSpec::new(row_checks::COLUMN, checks()) })
}
