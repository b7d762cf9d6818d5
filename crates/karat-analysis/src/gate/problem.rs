//! What is wrong with a gate before anything is decided.

use karat_text::similar::nearest;
use karat_types::{Against, Gate, PlanHeader, Subject};

use super::path::rest;
use crate::GateProblem;
use crate::pattern::fits;

/// Everything that a run of this plan cannot have been asked by a gate. `analyses` are the ids of those that it has.
pub(super) fn of(plan: &PlanHeader, analyses: &[String], gate: &Gate) -> Vec<GateProblem> {
    let one =
        [unknown_subject(plan, analyses, gate), unknown_partner(plan, gate), impossible(gate), unanchored(plan, gate)];
    let problems = one.into_iter().flatten().chain(pointless(gate)).chain(out_of_range(plan, gate));
    problems.map(|what| GateProblem::of(gate, what)).collect()
}

fn unknown_subject(plan: &PlanHeader, analyses: &[String], gate: &Gate) -> Option<String> {
    let metrics = plan.metrics.iter().map(|metric| metric.name.as_str());
    match &gate.subject {
        Subject::Metric(pattern) => {
            let known: Vec<&str> = metrics.collect();
            let none = !known.iter().any(|name| fits(pattern, name));
            none.then(|| format!("the run has no metric `{pattern}`{}", meant(pattern, &known)))
        }
        Subject::Finding(path) => {
            let known: Vec<&str> = analyses.iter().map(String::as_str).collect();
            let none = !known.iter().any(|id| rest(path, id).is_some());
            let first = path.split_once('.').map_or(path.as_str(), |(first, _)| first);
            none.then(|| format!("the run has no analysis `{first}`{}", meant(first, &known)))
        }
    }
}

fn unknown_partner(plan: &PlanHeader, gate: &Gate) -> Option<String> {
    let (kind, id, known): (_, _, Vec<&str>) = match gate.against.as_ref()? {
        Against::Variant(id) => ("variant", id, plan.variants.iter().map(|it| it.id.as_str()).collect()),
        Against::Model(id) if plan.models.iter().any(|model| model.is_called(id)) => return None,
        Against::Model(id) => ("model", id, plan.models.iter().map(|it| it.id.as_str()).collect()),
        Against::Baseline | Against::Previous | Against::Run(_) => return None,
    };
    let none = !known.contains(&id.as_str());
    none.then(|| format!("it compares with the {kind} `{id}`, which the run does not have{}", meant(id, &known)))
}

fn impossible(gate: &Gate) -> Option<String> {
    let (min, max) = gate.bounds_that_exclude_each_other()?;
    Some(format!("no figure is at least {min} and at most {max}; `min` must not be above `max`"))
}

/// Bounds on changes that say nothing: below 0, or of what has no baseline.
fn pointless(gate: &Gate) -> Vec<String> {
    let changes = [("max_drop", gate.max_drop), ("max_rise", gate.max_rise)];
    let given = || changes.into_iter().filter_map(|(name, bound)| Some((name, bound?)));
    let below = given().filter(|(_, bound)| bound.value < 0.0).map(|(name, bound)| {
        format!("`{name}` is {}: it says how far is too far, and is at least 0; `against` says from what", bound.value)
    });
    let what = match &gate.subject {
        Subject::Finding(_) => Some("a finding"),
        Subject::Metric(_) if gate.human_anchor => Some("a human-anchored figure"),
        Subject::Metric(_) => None,
    };
    let baseless =
        given().filter_map(|(name, _)| Some(format!("`{name}`: {} has no baseline; use `min` or `max`", what?)));
    below.chain(baseless).collect()
}

/// Bounds that no figure of the metric keeps.
fn out_of_range(plan: &PlanHeader, gate: &Gate) -> Vec<String> {
    let Subject::Metric(pattern) = &gate.subject else { return Vec::new() };
    let bounded = plan.metrics.iter().filter(|metric| fits(pattern, &metric.name) && metric.aggregate != "sum");
    let ranges = bounded.filter_map(|metric| Some((&metric.name, metric.range?)));
    let wrong = |(name, (lo, hi)): (&String, (f64, f64))| {
        let min = gate.min.filter(|min| min.value > hi).map(|min| ("min", min.value));
        let (bound, value) = min.or(gate.max.filter(|max| max.value < lo).map(|max| ("max", max.value)))?;
        let share = value / 100.0;
        let meant = if (lo..=hi).contains(&share) { format!("; did you mean `{value}%`?") } else { String::new() };
        Some(format!("no figure keeps `{bound}: {value}`: {name} goes from {lo} to {hi}{meant}"))
    };
    ranges.filter_map(wrong).collect()
}

/// A gate on what people would say, where the run does not ask what they said.
fn unanchored(plan: &PlanHeader, gate: &Gate) -> Option<String> {
    let Subject::Metric(pattern) = &gate.subject else { return None };
    let scorers = plan
        .metrics
        .iter()
        .filter(|metric| fits(pattern, &metric.name))
        .filter_map(|metric| plan.scorers.get(metric.scorer).map(|scorer| scorer.id.as_str()));
    let scorers: Vec<&str> = scorers.collect();
    let anchors = |scorer: &str| {
        plan.analyses
            .iter()
            .filter(|it| it.analysis == "human_anchor")
            .any(|it| it.with.get("scorer").and_then(serde_json::Value::as_str).is_none_or(|named| named == scorer))
    };
    let lacks = gate.human_anchor && !scorers.is_empty() && !scorers.iter().any(|scorer| anchors(scorer));
    lacks.then(|| {
        let scorer = scorers.first().copied().unwrap_or_default();
        format!(
            "`anchor: human` reads the analysis `human_anchor`, which the suite does not ask for: add `{{ analysis: \
             human_anchor, with: {{ scorer: {scorer} }} }}` to `analyses`, and `labels` to the scorer"
        )
    })
}

/// ` (did you mean …?)`, and what there is.
pub(super) fn meant(unknown: &str, known: &[&str]) -> String {
    let near =
        nearest(unknown, known.iter().copied()).map_or(String::new(), |name| format!(" (did you mean `{name}`?)"));
    let all = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    format!("{near}; it has: {all}")
}
