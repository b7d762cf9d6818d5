//! Checks pinned numbers for consistency: a file may have been edited by hand, or belong to another suite.

use std::collections::BTreeSet;

use karat_stats::describe::extent;
use karat_types::{MetricSpec, PlanHeader};

use super::{Pinned, PinnedMetric, ROUNDING};
use crate::score::observations::Aggregate;

/// The largest number of contradictions reported.
const TOLD: usize = 5;

/// Checks the document for internal consistency.
///
/// # Errors
/// Duplicate samples or systems, lists of the wrong length, counts that do not match the values, negative standard
/// errors, an overall figure outside the range of all systems; each with its place.
pub(super) fn check_document(pinned: &Pinned) -> Result<(), String> {
    let systems = pinned.systems.iter().map(|system| &system.id);
    let twice = duplicates("samples", &pinned.samples).into_iter().chain(duplicates("systems", systems));
    let figures = figures(pinned).flat_map(|(place, _, metric)| form_problems(&place, metric, pinned.samples.len()));
    join_problems(twice.chain(figures).chain(overall_problems(pinned)))
}

/// Overall figures outside the range of the systems' figures, although they are means of these.
fn overall_problems(pinned: &Pinned) -> impl Iterator<Item = String> {
    pinned.overall.iter().filter_map(|(name, overall)| {
        let of_systems = pinned.systems.iter().filter_map(|system| system.metrics.get(name)?.value);
        let (lo, hi) = extent(&of_systems.collect::<Vec<f64>>())?;
        let slack = ROUNDING * lo.abs().max(hi.abs()).max(1.0);
        let value = overall.value.filter(|value| *value < lo - slack || *value > hi + slack)?;
        Some(format!("`overall.{name}.value` is {value}, which is outside the range of the systems, {lo} to {hi}"))
    })
}

/// Checks the numbers against the metrics of a plan.
///
/// # Errors
/// Numbers outside the metric's range, or figures that do not match their values; each with its place.
pub(super) fn check_plan(pinned: &Pinned, plan: &PlanHeader) -> Result<(), String> {
    join_problems(figures(pinned).flat_map(|(place, name, metric)| {
        match plan.metric(name).and_then(|at| plan.metrics.get(at)) {
            Some(spec) => fit_problems(&place, metric, spec, sample_aggregate(plan, spec)),
            None => Vec::new(),
        }
    }))
}

/// Every figure with its place and the name of its metric.
fn figures(pinned: &Pinned) -> impl Iterator<Item = (String, &str, &PinnedMetric)> {
    let overall = std::iter::once(("overall".to_owned(), &pinned.overall));
    let systems = pinned.systems.iter().enumerate();
    let systems = systems.map(|(at, system)| (format!("systems[{at}].metrics"), &system.metrics));
    overall.chain(systems).flat_map(|(place, metrics)| {
        metrics.iter().map(move |(name, metric)| (format!("{place}.{name}"), name.as_str(), metric))
    })
}

fn duplicates<'a>(list: &'static str, names: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let doubles = names.into_iter().enumerate().filter(|(_, name)| !seen.insert(name.as_str()));
    doubles.map(|(at, name)| format!("`{list}[{at}]` is `{name}`, which is a duplicate")).collect()
}

fn form_problems(place: &str, metric: &PinnedMetric, samples: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    if let Some(se) = metric.se.filter(|se| *se < 0.0) {
        wrong.push(format!("`{place}.se` is {se}, but a standard error cannot be negative"));
    }
    let known = metric.values.iter().flatten().count();
    if !metric.values.is_empty() && metric.values.len() != samples {
        wrong.push(format!("`{place}.values` has {} entries for {samples} `samples`", metric.values.len()));
    } else if metric.value.is_none() && known > 0 {
        wrong.push(format!("`{place}` has {known} values but no `value`"));
    }
    if !metric.trials.is_empty() && !metric.trials.len().is_multiple_of(samples.max(1)) {
        wrong.push(format!("`{place}.trials` has {} entries for {samples} `samples`", metric.trials.len()));
    }
    if known > 0 && metric.n > 0 && metric.n != known as u64 {
        wrong.push(format!("`{place}.n` is {}, but there are {known} values", metric.n));
    }
    if metric.value.is_some() && metric.n == 0 {
        wrong.push(format!("`{place}.n` is 0, but there is a `value`"));
    }
    wrong
}

fn fit_problems(place: &str, metric: &PinnedMetric, spec: &MetricSpec, aggregate: Option<Aggregate>) -> Vec<String> {
    let mut wrong = Vec::new();
    let outside = |number: &f64| spec.range.filter(|(lo, hi)| *number < lo - ROUNDING || *number > hi + ROUNDING);
    let numbers = |list: &'static str, of: &[Option<f64>]| {
        let numbered = of.iter().enumerate().filter_map(|(at, value)| Some((format!(".{list}[{at}]"), (*value)?)));
        numbered.collect::<Vec<_>>()
    };
    let figure = metric.value.map(|value| (".value".to_owned(), value));
    let values = numbers("values", &metric.values).into_iter().chain(numbers("trials", &metric.trials));
    let strange = figure.into_iter().chain(values).find_map(|(key, number)| Some((key, number, outside(&number)?)));
    if let Some((key, number, (lo, hi))) = strange.filter(|_| spec.aggregate != "sum") {
        wrong.push(format!("`{place}{key}` is {number}, but the metric ranges from {lo} to {hi}"));
    }
    let known: Vec<f64> = metric.values.iter().flatten().copied().collect();
    let figure = aggregate.and_then(|aggregate| Some((aggregate.name(), aggregate.of(&known)?)));
    if let (Some(value), Some((name, figure))) = (metric.value, figure)
        && (value - figure).abs() > ROUNDING * figure.abs().max(1.0)
    {
        wrong.push(format!("`{place}.value` is {value}, but the {name} of its values is {figure}"));
    }
    wrong
}

/// The aggregate that turns a system's samples into its figure; `None` if trials are not reduced by the mean.
fn sample_aggregate(plan: &PlanHeader, spec: &MetricSpec) -> Option<Aggregate> {
    let by_mean = plan.scorers.get(spec.scorer).is_none_or(|scorer| scorer.reduce == "mean");
    Aggregate::parse(&spec.aggregate).filter(|_| by_mean)
}

fn join_problems(wrong: impl Iterator<Item = String>) -> Result<(), String> {
    let wrong: Vec<String> = wrong.take(TOLD).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}
