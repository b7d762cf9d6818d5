//! What is wrong with a gate before anything is decided.

use karat_text::similar::nearest;
use karat_types::{Against, Gate, PlanHeader, Subject};

use super::path::rest;
use crate::GateProblem;
use crate::pattern::fits;

/// Everything that a run of this plan cannot have been asked by a gate. `analyses` are the ids of those that it has.
pub(super) fn of(plan: &PlanHeader, analyses: &[String], gate: &Gate) -> Vec<GateProblem> {
    let problems = [unknown_subject(plan, analyses, gate), unknown_partner(plan, gate), impossible(gate)];
    problems.into_iter().flatten().map(|what| GateProblem { gate: gate.id.clone(), what }).collect()
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

/// ` (did you mean …?)`, and what there is.
pub(super) fn meant(unknown: &str, known: &[&str]) -> String {
    let near =
        nearest(unknown, known.iter().copied()).map_or(String::new(), |name| format!(" (did you mean `{name}`?)"));
    let all = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    format!("{near}; it has: {all}")
}
