//! Checks gates before anything is decided.

use karat_text::similar::nearest;
use karat_types::{Gate, GateReference, GateRules, PlanHeader, Policy, ScorerKind, Subject};

use super::path::rest_after;
use crate::GateProblem;
use crate::score::instrument::metric_names::matches_pattern;

/// The problems of a gate for a run of this plan. `analyses` are the ids of its analyses.
pub(super) fn gate_problems(
    plan: &PlanHeader,
    analyses: &[String],
    rules: &GateRules,
    gate: &Gate,
) -> Vec<GateProblem> {
    // A partner that was merely not selected leaves the gate undecided.
    let left_out = gate.against.as_ref().is_some_and(|against| rules.left_out.contains(against));
    let partner = if left_out { None } else { unknown_partner(plan, gate) };
    let one = [unknown_subject(plan, analyses, rules, gate), partner, impossible(gate), missing_anchor(plan, gate)];
    let ranges = out_of_range(plan, gate).into_iter().chain(never_broken(plan, gate));
    let problems = one.into_iter().flatten().chain(pointless(gate)).chain(ranges);
    problems.map(|what| GateProblem::of(gate, what)).collect()
}

/// Differences of metrics that the run does not have.
pub(super) fn policy_problems(plan: &PlanHeader, policy: &Policy) -> Vec<GateProblem> {
    let known: Vec<&str> = plan.metrics.iter().map(|metric| metric.name.as_str()).collect();
    let unknown = policy.mde.keys().filter(|pattern| !known.iter().any(|name| matches_pattern(pattern, name)));
    let problem = |pattern: &String| {
        let what = format!("`policy.mde`: the run has no metric `{pattern}`{}", suggestion(pattern, &known));
        GateProblem { place: None, gate: None, what }
    };
    unknown.map(problem).collect()
}

fn unknown_subject(plan: &PlanHeader, analyses: &[String], rules: &GateRules, gate: &Gate) -> Option<String> {
    let metrics = plan.metrics.iter().map(|metric| metric.name.as_str());
    match &gate.subject {
        Subject::Metric(pattern) => {
            let known: Vec<&str> = metrics.collect();
            let none = !known.iter().any(|name| matches_pattern(pattern, name));
            let scorer = pattern.split('.').next().unwrap_or(pattern);
            none.then(|| match rules.unjudged.iter().any(|off| off == scorer) {
                true => format!("the run has no metric `{pattern}`: {}", scorer_is_off(scorer)),
                false => format!("the run has no metric `{pattern}`{}", suggestion(pattern, &known)),
            })
        }
        Subject::Finding(path) => {
            let known: Vec<&str> = analyses.iter().map(String::as_str).collect();
            let none = !known.iter().any(|id| rest_after(path, id).is_some());
            let first = path.split_once('.').map_or(path.as_str(), |(first, _)| first);
            none.then(|| format!("the run has no analysis `{first}`{}", suggestion(first, &known)))
        }
    }
}

/// The problem of whatever reads the scores of a scorer without a judge.
pub(super) fn scorer_is_off(scorer: &str) -> String {
    format!("the scorer `{scorer}` is off, because the suite has no judge; name one under `judges` or with --judges")
}

fn unknown_partner(plan: &PlanHeader, gate: &Gate) -> Option<String> {
    let (kind, id, known): (_, _, Vec<&str>) = match gate.against.as_ref()? {
        GateReference::Variant(id) => ("variant", id, plan.variants.iter().map(|it| it.id.as_str()).collect()),
        GateReference::Model(id) if plan.models.iter().any(|model| model.is_called(id)) => return None,
        GateReference::Model(id) => ("model", id, plan.models.iter().map(|it| it.id.as_str()).collect()),
        GateReference::Baseline | GateReference::Previous | GateReference::Run(_) => return None,
    };
    let none = !known.contains(&id.as_str());
    none.then(|| format!("it compares with the unknown {kind} `{id}`{}", suggestion(id, &known)))
}

fn impossible(gate: &Gate) -> Option<String> {
    let (min, max) = gate.contradictory_bounds()?;
    Some(format!("no figure can be at least {min} and at most {max}; `min` must not be above `max`"))
}

/// Bounds on changes that are below 0, or on a subject without a baseline.
fn pointless(gate: &Gate) -> Vec<String> {
    let changes = [("max_drop", gate.max_drop), ("max_rise", gate.max_rise)];
    let given = || changes.into_iter().filter_map(|(name, bound)| Some((name, bound?)));
    let below = given().filter(|(_, bound)| bound.value < 0.0).map(|(name, bound)| {
        format!(
            "`{name}` is {}, but must be at least 0: it is the largest allowed change from the reference in `against`",
            bound.value
        )
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

/// Bounds that no figure of the metric can keep.
fn out_of_range(plan: &PlanHeader, gate: &Gate) -> Vec<String> {
    let wrong = |(name, (lo, hi)): (&str, (f64, f64))| {
        let min = gate.min.filter(|min| min.value > hi).map(|min| ("min", min.value));
        let (bound, value) = min.or(gate.max.filter(|max| max.value < lo).map(|max| ("max", max.value)))?;
        let meant = as_share(value, lo, hi);
        Some(format!("no figure can meet `{bound}: {value}`: {name} ranges from {lo} to {hi}{meant}"))
    };
    ranges(plan, gate).filter_map(wrong).collect()
}

/// Bounds that every figure of the metric keeps, so that the gate can never fail.
fn never_broken(plan: &PlanHeader, gate: &Gate) -> Vec<String> {
    let wrong = |(name, (lo, hi)): (&str, (f64, f64))| {
        let beyond = [
            ("min", gate.min.filter(|min| min.value < lo)),
            ("max", gate.max.filter(|max| max.value > hi)),
            ("max_drop", gate.max_drop.filter(|drop| !drop.percent && drop.value > hi - lo)),
            ("max_rise", gate.max_rise.filter(|rise| !rise.percent && rise.value > hi - lo)),
        ];
        let (bound, value) = beyond.into_iter().find_map(|(bound, given)| Some((bound, given?.value)))?;
        let meant = as_share(value, lo, hi);
        Some(format!("every figure meets `{bound}: {value}`: {name} ranges from {lo} to {hi}{meant}"))
    };
    ranges(plan, gate).filter_map(wrong).collect()
}

/// Name and range of the gate's metrics with a range. Sums are left out, because they exceed the range of their
/// samples.
fn ranges<'a>(plan: &'a PlanHeader, gate: &'a Gate) -> impl Iterator<Item = (&'a str, (f64, f64))> {
    let fitting = |name: &str| matches!(&gate.subject, Subject::Metric(pattern) if matches_pattern(pattern, name));
    let metrics = plan.metrics.iter().filter(move |metric| fitting(&metric.name) && metric.aggregate != "sum");
    metrics.filter_map(|metric| Some((metric.name.as_str(), metric.range?)))
}

/// A hint that a number may be meant as a percentage: it is outside the range, and its hundredth is inside.
fn as_share(value: f64, lo: f64, hi: f64) -> String {
    let share = (lo..=hi).contains(&(value / 100.0)) && value > hi;
    if share { format!("; did you mean `{value}%`?") } else { String::new() }
}

/// A gate on human-anchored figures of scorers without judges: there is nothing to correct. Labels may come later, from
/// tasks, so a scorer that has none yet is not a problem.
fn missing_anchor(plan: &PlanHeader, gate: &Gate) -> Option<String> {
    let Subject::Metric(pattern) = &gate.subject else { return None };
    let metrics = plan.metrics.iter().filter(|metric| matches_pattern(pattern, &metric.name));
    let mut scorers = metrics.filter_map(|metric| plan.scorers.get(metric.scorer)).peekable();
    let scorer = scorers.peek().filter(|_| gate.human_anchor)?.id.clone();
    let is_judged = scorers.any(|scorer| matches!(scorer.kind, ScorerKind::Rubric(_)));
    (!is_judged).then(|| {
        format!(
            "`anchor: human` corrects judges by people's labels, and `{scorer}` has no judge: name a metric of a scorer with a \
             `rubric`, or leave `anchor` out"
        )
    })
}

/// ` (did you mean …?)`, followed by the known names.
pub(super) fn suggestion(unknown: &str, known: &[&str]) -> String {
    let near =
        nearest(unknown, known.iter().copied()).map_or(String::new(), |name| format!(" (did you mean `{name}`?)"));
    let all = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    format!("{near}; it has: {all}")
}
