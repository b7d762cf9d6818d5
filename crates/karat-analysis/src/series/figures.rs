//! Figures over all cards.

use std::collections::BTreeMap;

use karat_stats::bootstrap::Resampling;
use karat_stats::describe::{mean, median};
use karat_stats::interval::Level;
use karat_stats::numeric::seed::Seed;

use super::rubric::Composition;
use super::rules::CardRules;
use super::view::{SeriesCard, SeriesFigures, ShareOf};
use crate::infer::measure::Measure;
use crate::infer::resampled::bootstrap_figure;
use crate::score::observations::{Aggregate, Observations};
use crate::{Finding, Pinned};

/// Draws of a bootstrap in total: fewer resamples of longer series.
const DRAWS: usize = 400_000;

/// Bounds of the number of resamples.
const RESAMPLES: (usize, usize) = (200, 1_000);

/// The metric that the figures are about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) metric: &'a str,
    pub(super) range: Option<(f64, f64)>,
    pub(super) system: &'a str,
    pub(super) baseline: Option<&'a Pinned>,
}

pub(super) fn of(cards: &[SeriesCard], rules: &CardRules, rubric: &Composition, subject: Subject<'_>) -> SeriesFigures {
    let observed = observations(cards);
    let clip = |found: Finding| subject.range.map_or(found.clone(), |(lo, hi)| found.clip_interval(lo, hi));
    let count = |is: &dyn Fn(&SeriesCard) -> bool| cards.iter().filter(|card| is(card)).count() as u64;
    let mut seen: BTreeMap<&str, bool> = BTreeMap::new();
    for card in cards.iter().filter(|card| card.baseline.is_some()) {
        *seen.entry(&card.sample).or_default() |= card.flags.regressed;
    }
    let regressed = seen.values().filter(|regressed| **regressed).count() as u64;
    let baselines =
        |at: usize| mean(&cards.iter().filter_map(|card| card.axes.get(at)?.baseline).collect::<Vec<f64>>());
    let axis_median = |at: usize| {
        let values: Vec<f64> = cards.iter().filter_map(|card| card.axes.get(at)?.value).collect();
        Finding::point(median(&values)?, values.len(), "median")
    };
    SeriesFigures {
        median: median_figure(&observed).map(clip),
        mean: Measure::of_mean(false, subject.range, Level::P95).figure(&observed),
        gate_fails: rules
            .has_bounds()
            .then(|| ShareOf { count: count(&|card| card.flags.fails_gate), of: cards.len() as u64 }),
        regressions: subject.baseline.map(|_| ShareOf { count: regressed, of: seen.len() as u64 }),
        pinned_unseen: count_pinned(subject).saturating_sub(seen.len() as u64),
        axes: (0..rubric.axes.len()).map(axis_median).collect(),
        axis_baselines: (0..rubric.axes.len()).map(baselines).collect(),
        caps: (0..rubric.caps.len()).map(|cap| count(&|card| card.caps.contains(&cap))).collect(),
    }
}

/// Number of samples with a pinned grade of the system.
fn count_pinned(Subject { metric, system, baseline, .. }: Subject<'_>) -> u64 {
    let Some((baseline, system)) = baseline.and_then(|it| Some((it, it.system(system)?))) else { return 0 };
    baseline.samples().filter(|sample| baseline.value(system, metric, sample).is_some()).count() as u64
}

/// The composites; cards of one sample are not independent.
fn observations(cards: &[SeriesCard]) -> Observations {
    let mut observed = Observations::default();
    let mut samples: BTreeMap<&str, u32> = BTreeMap::new();
    for card in cards {
        let next = samples.len() as u32;
        let cluster = *samples.entry(&card.sample).or_insert(next);
        observed.push(card.composite, 0, cluster);
    }
    observed.clustered = samples.len() < cards.len();
    observed
}

/// The median with the interval of a bootstrap; without one if there are too few cards, or all are equal.
fn median_figure(observed: &Observations) -> Option<Finding> {
    let (least, most) = RESAMPLES;
    let resamples = (DRAWS / observed.len().max(1)).clamp(least, most);
    let how = Resampling { resamples, ..Resampling::new(Seed(1)) };
    match bootstrap_figure(observed, Aggregate::Median, &how) {
        Some(drawn) => drawn.finding_at(Level::P95),
        None => Finding::point(median(&observed.values)?, observed.len(), "median"),
    }
}
