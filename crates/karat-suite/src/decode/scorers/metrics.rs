//! The metrics that scorers yield: one name for each figure.

use karat_types::{
    Better, Bound, Dimension, MetricSpec, OverallMethod, PASS, PlanHeader, Rubric, RubricScorer, Scale, ScorerKind,
    ScorerSpec,
};

use serde_json::{Map, Value};

use crate::catalog::{Catalog, Entry};
use crate::diagnostics::Problems;
use crate::syntax::node::Node;

/// Every metric of a plan's scorers, in their order; then `pass`, where there may be several pass/fail scores or a
/// scorer asks for it by a bound.
pub(crate) fn of_scorers(scorers: &[ScorerSpec], catalog: &Catalog) -> Vec<MetricSpec> {
    let each = scorers.iter().enumerate().flat_map(|(index, scorer)| {
        let metrics = match &scorer.kind {
            ScorerKind::Metric { metric, with } => {
                catalog.metrics.get(metric).map(|entry| of_metric(index, scorer, entry, with)).unwrap_or_default()
            }
            ScorerKind::Rubric(rubric) => of_rubric(index, scorer, rubric),
        };
        apply_bound(metrics, scorer)
    });
    let mut metrics: Vec<MetricSpec> = each.collect();
    mark_combined(&mut metrics, scorers, catalog);
    turn_combined(&mut metrics, scorers);
    // A cascade does not grade every cell, so it is not a check.
    let is_test = |metric: &&MetricSpec| {
        (metric.binary || metric.verdicts) && scorers.get(metric.scorer).is_some_and(|it| !it.is_in_cascade())
    };
    let tests: Vec<&MetricSpec> = metrics.iter().filter(is_test).collect();
    let asked = tests.len() > 1 || tests.iter().any(|metric| metric.bound.is_some());
    if asked && metrics.iter().all(|metric| metric.name != PASS) {
        let volatile = tests.iter().any(|metric| metric.volatile);
        metrics.push(MetricSpec {
            name: PASS.to_owned(),
            scorer: scorers.len(),
            range: Some((0.0, 1.0)),
            binary: true,
            verdicts: false,
            better: Better::Higher,
            volatile,
            aggregate: "mean".to_owned(),
            bound: Bound::default(),
            by_words: false,
        });
    }
    metrics
}

/// Marks metrics that are made of others which find texts by their words. A scorer names those before it.
fn mark_combined(metrics: &mut [MetricSpec], scorers: &[ScorerSpec], catalog: &Catalog) {
    for at in 0..metrics.len() {
        let Some(ScorerKind::Metric { with, .. }) = scorers.get(metrics[at].scorer).map(|scorer| &scorer.kind) else {
            continue;
        };
        let is_by_words = |part: &Value| match part {
            Value::String(name) => metrics.iter().any(|other| other.by_words && other.name == *name),
            Value::Object(check) => {
                let entry = check.get("metric").and_then(Value::as_str).and_then(|name| catalog.metrics.get(name));
                entry.zip(check.get("with").and_then(Value::as_object)).is_some_and(|(it, with)| it.is_by_words(with))
            }
            _ => false,
        };
        let parts = with.get("of").and_then(Value::as_array).into_iter().flatten();
        metrics[at].by_words |= parts.into_iter().any(is_by_words);
    }
}

/// Name of the metric that makes one figure of others.
const COMBINE: &str = "combine";

/// The better directions of the metrics that a `combine` is made of; none for any other scorer.
fn combined_directions(metrics: &[MetricSpec], scorer: &ScorerSpec) -> Vec<(String, Better)> {
    let ScorerKind::Metric { metric, with } = &scorer.kind else { return Vec::new() };
    let names = with.get("of").and_then(Value::as_array).filter(|_| metric == COMBINE).into_iter().flatten();
    let direction = |name: &str| metrics.iter().find(|it| it.name == name).map(|it| (name.to_owned(), it.better));
    names.filter_map(Value::as_str).filter_map(direction).collect()
}

/// Makes less better of a `combine` of metrics of which less is better, unless its scorer says what is.
fn turn_combined(metrics: &mut [MetricSpec], scorers: &[ScorerSpec]) {
    for at in 0..metrics.len() {
        let Some(scorer) = scorers.get(metrics[at].scorer) else { continue };
        // A bound makes it a check, which is better passed.
        if scorer.better.is_some() || !scorer.bound.is_none() {
            continue;
        }
        let parts = combined_directions(metrics, scorer);
        if !parts.is_empty() && parts.iter().all(|(_, better)| *better == Better::Lower) {
            metrics[at].better = Better::Lower;
        }
    }
}

/// Warns of a `combine` that mixes metrics of which more is better with such of which less is, and does not say which of its
/// own figures is better.
pub(crate) fn warn_of_mixed(node: Option<&Node>, scorers: &[ScorerSpec], catalog: &Catalog, problems: &mut Problems) {
    let metrics = of_scorers(scorers, catalog);
    for scorer in scorers.iter().filter(|scorer| scorer.better.is_none()) {
        let parts = combined_directions(&metrics, scorer);
        let first = |wanted: Better| parts.iter().find(|(_, better)| *better == wanted).map(|(name, _)| name);
        let place = node.and_then(|node| node.field(&scorer.id)).map(|at| at.place.clone());
        if let (Some(more), Some(less), Some(place)) = (first(Better::Higher), first(Better::Lower), place) {
            let message = format!(
                "`{}` combines `{more}`, of which more is better, with `{less}`, of which less is: its figure says neither",
                scorer.id
            );
            let hint = "combine metrics of one direction, or say `better: higher` or `better: lower` here";
            problems.warn(&place, message).hint(hint);
        }
    }
}

/// The metrics of a scorer with its bound: it makes its composite pass/fail, or each figure where it has none.
fn apply_bound(mut metrics: Vec<MetricSpec>, scorer: &ScorerSpec) -> Vec<MetricSpec> {
    if scorer.bound.is_none() {
        return metrics;
    }
    let composite = match &scorer.kind {
        ScorerKind::Rubric(judged) => judged.rubric.overall.as_ref().map_or("overall", |overall| &overall.id),
        ScorerKind::Metric { .. } => "overall",
    };
    let composite = format!("{}.{composite}", scorer.id);
    let has_composite = metrics.iter().any(|metric| metric.name == composite);
    for metric in metrics.iter_mut().filter(|metric| !has_composite || metric.name == composite) {
        metric.bound = scorer.bound;
        metric.binary = true;
        metric.verdicts = false;
        metric.range = Some((0.0, 1.0));
        metric.better = Better::Higher;
    }
    metrics
}

/// Refuses scorers with a metric whose name is that of an earlier one, or of one that Karat makes: in reports, gates and
/// expressions nothing could tell the two apart. `made` are names that are taken, and what they mean.
pub(crate) fn refuse_doubled(
    node: Option<&Node>,
    scorers: &[ScorerSpec],
    made: &[(String, &str)],
    catalog: &Catalog,
    problems: &mut Problems,
) {
    let metrics = of_scorers(scorers, catalog);
    for (at, metric) in metrics.iter().enumerate() {
        let Some((scorer, place)) = scorers
            .get(metric.scorer)
            .and_then(|scorer| Some((scorer, &node?.entries().iter().find(|entry| entry.key == scorer.id)?.place)))
        else {
            continue;
        };
        let is_taken = |(name, _): &&(String, &str)| *name == metric.name || *name == scorer.id;
        if let Some((name, meaning)) = made.iter().find(is_taken) {
            problems
                .error(place, format!("`{name}` is the name of {meaning}"))
                .hint(format!("give this scorer another id, such as `{name}_by_scorer`"));
            continue;
        }
        let is_same = |other: &&MetricSpec| other.name == metric.name && other.scorer != metric.scorer;
        if let Some(earlier) = metrics[..at].iter().find(is_same).and_then(|other| scorers.get(other.scorer)) {
            let dimension = earlier.id.len() + 1;
            let owner = match metric.name.get(dimension..) {
                Some(dimension) => format!("that of `{dimension}` in the scorer `{}`", earlier.id),
                None => format!("the scorer `{}`", earlier.id),
            };
            problems
                .error(place, format!("there is already a metric `{}`: {owner}", metric.name))
                .hint("give one of the two scorers another id");
        }
    }
}

/// The index, in the plan's metrics, of what a scorer calls by this dimension name: for a rubric its dimensions and its
/// overall, for a metric its dimensions (or anything, where it has only one figure).
pub fn index_of(header: &PlanHeader, scorer: usize, dimension: &str) -> Option<usize> {
    let id = &header.scorers.get(scorer)?.id;
    let full = format!("{id}.{dimension}");
    let own = || header.metrics.iter().enumerate().filter(|(_, metric)| metric.scorer == scorer);
    own()
        .find(|(_, metric)| metric.name == full)
        .or_else(|| own().find(|(_, metric)| metric.name == *id))
        .map(|(at, _)| at)
}

fn of_metric(index: usize, scorer: &ScorerSpec, entry: &Entry, with: &Map<String, Value>) -> Vec<MetricSpec> {
    let traits = entry.metric;
    let (range, better) = if entry.is_count(with) { (None, Better::Lower) } else { (traits.range, traits.better) };
    let spec = |name: String| MetricSpec {
        name,
        scorer: index,
        range,
        binary: traits.binary,
        verdicts: traits.verdicts,
        better: scorer.better.unwrap_or(better),
        volatile: traits.volatile,
        aggregate: scorer.aggregate.clone(),
        bound: Bound::default(),
        by_words: entry.is_by_words(with),
    };
    if traits.dimensions.is_empty() {
        return vec![spec(scorer.id.clone())];
    }
    traits.dimensions.iter().map(|dimension| spec(format!("{}.{dimension}", scorer.id))).collect()
}

/// A rubric with one dimension and no overall is one figure: its metric has the scorer's own name.
fn of_rubric(index: usize, scorer: &ScorerSpec, judged: &RubricScorer) -> Vec<MetricSpec> {
    let rubric = &judged.rubric;
    let spec = |name: String, range: Option<(f64, f64)>, binary: bool, better: Better| MetricSpec {
        name,
        scorer: index,
        range,
        binary,
        verdicts: false,
        better: scorer.better.unwrap_or(better),
        volatile: false,
        aggregate: scorer.aggregate.clone(),
        bound: Bound::default(),
        by_words: false,
    };
    let of_dimension = |name: String, dimension: &Dimension| {
        spec(name, Some(dimension.scale.bounds()), is_binary(&dimension.scale), dimension.better)
    };
    if let ([only], None) = (rubric.dimensions.as_slice(), &rubric.overall) {
        return vec![of_dimension(scorer.id.clone(), only)];
    }
    let dimensions =
        rubric.dimensions.iter().map(|dimension| of_dimension(format!("{}.{}", scorer.id, dimension.name), dimension));
    let overall = rubric.overall.iter().map(|overall| {
        let lower = rubric.dimensions.iter().all(|dimension| dimension.better == Better::Lower);
        let better = if lower { Better::Lower } else { Better::Higher };
        spec(format!("{}.{}", scorer.id, overall.id), overall_range(rubric, overall.method), false, better)
    });
    dimensions.chain(overall).collect()
}

fn is_binary(scale: &Scale) -> bool {
    match scale {
        Scale::Choices(choices) => {
            choices.iter().all(|(_, value)| value.total_cmp(&0.0).is_eq() || value.total_cmp(&1.0).is_eq())
        }
        Scale::Range { .. } => false,
    }
}

fn overall_range(rubric: &Rubric, method: OverallMethod) -> Option<(f64, f64)> {
    let bounds = rubric.dimensions.iter().map(|dimension| (dimension.scale.bounds(), dimension.weight));
    let count = rubric.dimensions.len() as f64;
    let weights: f64 = rubric.dimensions.iter().map(|dimension| dimension.weight).sum();
    let sum = |weighted: bool| {
        bounds.clone().fold((0.0, 0.0), |(low, high), ((lo, hi), weight)| {
            let factor = if weighted { weight } else { 1.0 };
            (low + lo * factor, high + hi * factor)
        })
    };
    let over = |(lo, hi): (f64, f64), total: f64| (total > 0.0).then(|| (lo / total, hi / total));
    match method {
        OverallMethod::Sum => Some(sum(false)),
        OverallMethod::Mean => over(sum(false), count),
        OverallMethod::WeightedMean => over(sum(true), weights),
        OverallMethod::Min | OverallMethod::Given => {
            let (lo, hi) = bounds
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), ((lo, hi), _)| (low.min(lo), high.max(hi)));
            (lo.is_finite() && hi.is_finite()).then_some((lo, hi))
        }
    }
}
