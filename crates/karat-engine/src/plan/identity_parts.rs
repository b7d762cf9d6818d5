//! The named parts of identities: one list makes the key and later tells which part has changed.

use karat_types::{
    Action, Key, KeyBuilder, MergeHow, ModelSpec, PlanHeader, PrivacySpec, RubricScorer, ServiceSpec, StepSpec,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The rule by which a union takes items for one. Outputs that another rule has merged are not reused: they may lack items.
const UNION_RULE: &str = "statements";

/// A part of an identity that has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Name of the part: `prompt`, `parameters`, `column question`, `rubric` …
    pub part: String,
    /// The step it belongs to, if the variant has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The earlier value, if it is known; columns are known by their digest only.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub then: Value,
    /// The current value.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub now: Value,
}

impl Change {
    /// A changed part with unknown values.
    pub(crate) fn of(part: impl Into<String>) -> Self {
        Self { part: part.into(), step: None, then: Value::Null, now: Value::Null }
    }
}

/// The named parts of an identity. Absent parts are left out.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct IdentityParts(Vec<(String, Value)>);

impl IdentityParts {
    fn add(&mut self, name: impl Into<String>, value: impl Serialize) {
        let value = serde_json::to_value(value).unwrap_or_default();
        if !is_absent(&value) {
            self.0.push((name.into(), value));
        }
    }

    /// The identity made of these parts.
    pub fn key(&self, domain: &str) -> Key {
        KeyBuilder::new(domain).json(&self.0).finish()
    }

    /// The parts that differ, in the order of `self`, then those that only `earlier` has.
    pub fn changes_since(&self, earlier: &Self) -> Vec<Change> {
        let value = |parts: &Self, name: &str| {
            parts.0.iter().find(|(known, _)| known == name).map_or(Value::Null, |(_, value)| value.clone())
        };
        let gone = earlier.0.iter().filter(|(name, _)| !self.0.iter().any(|(known, _)| known == name));
        let names = self.0.iter().chain(gone).map(|(name, _)| name);
        let changes = names.map(|name| Change {
            part: name.clone(),
            step: None,
            then: value(earlier, name),
            now: value(self, name),
        });
        changes.filter(|change| change.then != change.now).collect()
    }
}

/// Returns whether a value means the same as its absence.
fn is_absent(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

/// The identity of a step: everything of the plan that can change its output, but no label.
pub(crate) fn step_parts(
    step: &StepSpec,
    model: Option<&ModelSpec>,
    variant: &str,
    plan: &PlanHeader,
) -> IdentityParts {
    let step = &step.bare();
    let mut parts = IdentityParts::default();
    parts.add("version", &step.version);
    let action = match &step.action {
        Action::Prompt(_) => "prompt",
        Action::Http(_) => "request",
        Action::Command(_) => "command",
        Action::Agent(_) => "agent",
        Action::Recorded(_) => "recording",
    };
    if !step.is_reusable(model) {
        parts.add("version", "unknown-v0");
    }
    parts.add(action, &step.action);
    parts.add("metering", &step.meter);
    parts.add("chunking", &step.chunk);
    parts.add("parsing", &step.parse);
    parts.add("taken parts", &step.take);
    parts.add("merging", &step.merge);
    if step.merge.as_ref().is_some_and(|merge| merge.how == MergeHow::Union) {
        parts.add("rule of merging", UNION_RULE);
    }
    parts.add("parameters", &step.parameters);
    add_redaction(&mut parts, &plan.privacy);
    if let Some(chunk) = &step.chunk {
        parts.add("tokenizer", &plan.tokenizer);
        if chunk.size.is_none() {
            parts.add("context window", model.and_then(|model| model.context_window));
        }
    }
    if let Some(model) = model {
        add_model(&mut parts, "model", model);
    }
    let user = step.action.as_agent().and_then(|agent| agent.user.as_ref()?.model());
    if let Some(user) = user.and_then(|id| plan.models.iter().find(|model| model.id == id)) {
        add_model(&mut parts, "user", user);
    }
    for name in &step.reads {
        let mut path = name.split('.');
        match path.next() {
            Some("params") => match path.next() {
                Some(param) => parts.add(format!("param {param}"), plan.params.get(param)),
                None => parts.add("params", &plan.params),
            },
            Some("run") => parts.add("run's day", &plan.as_of),
            Some("services") => {
                let id = path.next().unwrap_or_default();
                parts.add(format!("service {id}"), plan.services.get(id).map(ServiceSpec::identity));
            }
            Some("variant") => parts.add("variant's name", variant),
            Some("model") => parts.add("model's names", model.map(|model| json!([model.id, model.family]))),
            _ => {}
        }
    }
    parts
}

/// The identity of a judge: everything that its grades depend on except the output. `prompt_version` is the version of
/// the prompt that presents rubrics.
pub(crate) fn judge_parts(
    scorer: &RubricScorer,
    prompt_version: &str,
    judge: &ModelSpec,
    plan: &PlanHeader,
) -> IdentityParts {
    let mut parts = IdentityParts::default();
    let rubric = serde_json::to_value(&scorer.rubric).unwrap_or_default();
    let Value::Object(mut rubric) = rubric else { return parts };
    parts.add("rubric's version", rubric.remove("version"));
    parts.add("rubric's dimensions", rubric.remove("dimensions"));
    parts.add("rubric's diagnostics", rubric.remove("diagnostics"));
    parts.add("rubric's caps", rubric.remove("caps"));
    parts.add("judge's prompt", take_entries(&mut rubric, &["ask", "prompt", "show"]));
    parts.add("rubric", Value::Object(rubric));
    parts.add("judge's prompt version", prompt_version);
    parts.add("judge's parameters", &scorer.parameters);
    if scorer.rounds() > 1 || scorer.versus.is_some() {
        parts.add("votes and orders", json!([scorer.votes, scorer.orders, scorer.versus.is_some()]));
    }
    if scorer.rubric.examples > 0 {
        parts.add("calibration examples", &scorer.labels);
    }
    if scorer.rubric.show.iter().any(|item| item.chunk.is_some()) {
        parts.add("judge's context window", judge.context_window);
        parts.add("rule of findings", UNION_RULE);
    }
    add_model(&mut parts, "judge", judge);
    parts.add("seed", plan.run.seed);
    add_redaction(&mut parts, &plan.privacy);
    parts
}

fn add_redaction(parts: &mut IdentityParts, privacy: &PrivacySpec) {
    if !(privacy.redact.is_empty() && privacy.patterns.is_empty()) {
        parts.add("redaction", json!([privacy.redact, privacy.patterns]));
    }
}

fn take_entries(from: &mut Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    names.iter().filter_map(|name| Some(((*name).to_owned(), from.remove(*name)?))).collect()
}

/// Adds the parts of a model that can change an answer: see [`ModelSpec::identity`].
fn add_model(parts: &mut IdentityParts, role: &str, model: &ModelSpec) {
    parts.add(role, json!({ "provider": model.provider, "name": model.model }));
    parts.add(format!("{role}'s API root"), &model.base_url);
    parts.add(format!("{role}'s options"), &model.with);
    parts.add(format!("{role}'s default parameters"), &model.parameters);
    parts.add(format!("{role}'s sampling"), model.sampling);
    parts.add(format!("{role}'s greatest reply"), model.max_output);
    parts.add(format!("{role}'s JSON mode"), model.json_mode);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(list: &[(&str, Value)]) -> IdentityParts {
        let mut parts = IdentityParts::default();
        list.iter().for_each(|(name, value)| parts.add(*name, value));
        parts
    }

    /// BY-06: equal parts make equal keys, and a difference is named with both values.
    #[test]
    fn changes_name_their_part() {
        let then = parts(&[("prompt", json!("a")), ("model", json!("m")), ("merging", json!("union"))]);
        let now = parts(&[("version", Value::Null), ("prompt", json!("b")), ("model", json!("m"))]);
        assert_ne!(then.key("d"), now.key("d"));
        assert_eq!(now.key("d"), parts(&[("prompt", json!("b")), ("model", json!("m"))]).key("d"));
        let changes = now.changes_since(&then);
        let named: Vec<_> = changes.iter().map(|change| (change.part.as_str(), &change.then, &change.now)).collect();
        let (a, b, union, none) = (json!("a"), json!("b"), json!("union"), Value::Null);
        assert_eq!(named, [("prompt", &a, &b), ("merging", &union, &none)]);
        assert_eq!(now.changes_since(&now), []);
    }
}
