//! Figures with bootstrap intervals: resampled once, read at any level.

use std::collections::BTreeMap;

use karat_stats::bootstrap::{Distribution, Resampling, bootstrap_indices, bootstrap_mean, jackknife_mean};
use karat_stats::describe::{is_constant, mean};
use karat_stats::interval::{Interval, Level};
use karat_stats::numeric::seed::Seed;

use crate::infer::finding::Finding;
use crate::score::observations::{Aggregate, BOOTSTRAP_FROM, Observations, RESAMPLED_UP_TO};

/// Number of resamples of a figure without an interval of its own.
const RESAMPLES: usize = 1_000;

/// Seed of the resamples.
const SEED: Seed = Seed(1);

/// A figure with its bootstrap distribution.
#[derive(Debug, Clone)]
pub(crate) struct Resampled {
    /// The figure of the observations.
    pub(crate) value: f64,
    /// The figures of resampled clusters; `None` if there are too few clusters, and for extremes, which the bootstrap
    /// does not cover.
    pub(crate) drawn: Option<Distribution>,
    /// The jackknife values, if the interval is BCa.
    jackknife: Option<Vec<f64>>,
    n: usize,
    name: String,
    seed: Seed,
}

impl Resampled {
    /// The finding with its interval at a level, if there is one: BCa for independent observations, else percentiles.
    pub(crate) fn finding_at(&self, level: Level) -> Option<Finding> {
        let point = Finding::point(self.value, self.n, self.name.clone())?;
        let Some(drawn) = &self.drawn else { return Some(point) };
        let found = match &self.jackknife {
            Some(_) => point.with_interval(self.interval(level), None),
            None => point.with_named_interval(self.interval(level)),
        };
        let found = found.with_seed(self.seed).mark_degenerate(is_constant(drawn.replicates()));
        Some(drawn.standard_error().map_or(found.clone(), |se| found.with_se(se)))
    }

    /// The smallest α for which the resamples give an interval: one resample must lie beyond each end.
    pub(crate) fn min_alpha(&self) -> f64 {
        2.0 / (self.drawn.as_ref().map_or(0, |drawn| drawn.replicates().len()) + 1) as f64
    }

    fn interval(&self, level: Level) -> Option<Interval> {
        let drawn = self.drawn.as_ref().filter(|_| level.alpha() >= self.min_alpha() * (1.0 - 1e-9))?;
        match &self.jackknife {
            Some(jackknife) => drawn.bca(jackknife, level).interval,
            None => drawn.percentile(level),
        }
    }
}

/// A figure with a bootstrap interval: BCa for the mean of independent observations, else percentiles of resampled
/// clusters. `None` if a formula is better: too few observations, or equal ones, whose resamples do not vary.
pub(crate) fn bootstrap_figure(observed: &Observations, aggregate: Aggregate, how: &Resampling) -> Option<Resampled> {
    let n = observed.len();
    if n < BOOTSTRAP_FROM || is_constant(&observed.values) && !aggregate.uses_labels() {
        return None;
    }
    if aggregate == Aggregate::Mean && observed.is_one_stratum() && !observed.clustered {
        return Some(Resampled {
            value: mean(&observed.values)?,
            drawn: bootstrap_mean(&observed.values, how),
            jackknife: jackknife_mean(&observed.values),
            n,
            name: aggregate.name(),
            seed: how.seed,
        });
    }
    let figure = |places: &[usize]| stratified_aggregate(observed, places, aggregate);
    resample(observed, aggregate, aggregate.name(), figure, how)
}

/// A figure of labels, with equal weight for each stratum and the percentile interval of resampled clusters. `None` if
/// observations have no labels, or the figure is not a figure of labels.
pub(crate) fn label_figure(observed: &Observations, aggregate: Aggregate) -> Option<Resampled> {
    let Aggregate::Labels(_) = aggregate else { return None };
    let figure = |places: &[usize]| stratified_aggregate(observed, places, aggregate);
    resample(observed, aggregate, aggregate.name(), figure, &default_resampling(observed))
}

/// The change of a figure on the same observations, for figures whose change is not a mean of changes, such as
/// percentiles. Both sides are resampled together, so that common variation cancels out.
pub(crate) fn paired_change(now: &Observations, before: &Observations, aggregate: Aggregate) -> Option<Resampled> {
    bootstrap_change(now, before, aggregate, &default_resampling(now))
}

/// The change of a figure on the same observations with the given resampling.
pub(crate) fn bootstrap_change(
    now: &Observations,
    before: &Observations,
    aggregate: Aggregate,
    how: &Resampling,
) -> Option<Resampled> {
    let change = |places: &[usize]| {
        Some(stratified_aggregate(now, places, aggregate)? - stratified_aggregate(before, places, aggregate)?)
    };
    resample(now, aggregate, format!("difference of {}", aggregate.name()), change, how)
}

/// The default resampling: none above [`RESAMPLED_UP_TO`] observations.
fn default_resampling(observed: &Observations) -> Resampling {
    let resamples = if observed.len() > RESAMPLED_UP_TO { 0 } else { RESAMPLES };
    Resampling { resamples, ..Resampling::new(SEED) }
}

/// The aggregate of the observations at some positions, with equal weight for each stratum.
fn stratified_aggregate(observed: &Observations, places: &[usize], aggregate: Aggregate) -> Option<f64> {
    let mut strata: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for at in places {
        strata.entry(*observed.strata.get(*at)?).or_default().push(*at);
    }
    let of = |places: &Vec<usize>| match aggregate {
        Aggregate::Labels(figure) => {
            let pairs = places.iter().map(|at| observed.labels.get(*at).copied());
            figure.of(&pairs.collect::<Option<Vec<(u32, u32)>>>()?, observed.declared)
        }
        _ => aggregate.of(&places.iter().filter_map(|at| observed.values.get(*at).copied()).collect::<Vec<f64>>()),
    };
    mean(&strata.values().map(of).collect::<Option<Vec<f64>>>()?)
}

/// A statistic of observations, given by position, with its values for resampled clusters.
fn resample(
    observed: &Observations,
    aggregate: Aggregate,
    name: String,
    statistic: impl Fn(&[usize]) -> Option<f64> + Sync,
    how: &Resampling,
) -> Option<Resampled> {
    let mut clusters: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    observed.clusters.iter().enumerate().for_each(|(at, cluster)| clusters.entry(*cluster).or_default().push(at));
    let clusters: Vec<Vec<usize>> = clusters.into_values().collect();
    let of_drawn = |drawn: &[usize]| {
        let places: Vec<usize> = drawn.iter().filter_map(|at| clusters.get(*at)).flatten().copied().collect();
        statistic(&places)
    };
    let everything: Vec<usize> = (0..clusters.len()).collect();
    let value = of_drawn(&everything)?;
    let enough = aggregate.min_bootstrap_units().is_some_and(|fewest| clusters.len() >= fewest);
    let tells = enough && how.resamples > 0;
    let drawn = if tells { bootstrap_indices(clusters.len(), of_drawn, how) } else { None };
    Some(Resampled { value, drawn, jackknife: None, n: observed.len(), name, seed: how.seed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use karat_stats::describe::mean_with_t_interval;

    fn one(values: &[f64]) -> Observations {
        let mut observed = Observations::default();
        values.iter().enumerate().for_each(|(at, value)| observed.push(*value, 0, at as u32));
        observed
    }

    fn at_95(found: Option<Resampled>) -> Finding {
        found.unwrap().finding_at(Level::P95).unwrap()
    }

    /// RG-10, RG-11: a percentile's change has an interval; pairs that rose by the same amount give the same change in
    /// every resample.
    #[test]
    fn a_change_of_a_percentile_has_an_interval() {
        let before: Vec<f64> = (0..60).map(f64::from).collect();
        let now: Vec<f64> = before.iter().map(|value| value + 5.0).collect();
        let change = |now: &Observations, before: &Observations| {
            paired_change(now, before, Aggregate::Percentile(95)).unwrap().finding_at(Level::P95).unwrap()
        };
        let alike = change(&one(&now), &one(&before));
        assert_eq!((alike.value(), alike.interval()), (5.0, Some((5.0, 5.0))));
        let few_rose: Vec<f64> = before.iter().map(|value| if *value > 54.0 { 110.0 } else { *value }).collect();
        let found = change(&one(&few_rose), &one(&before));
        let (lo, hi) = found.interval().unwrap();
        assert!(found.value() > 50.0 && lo < 1.0 && hi > 50.0, "{found:?}");
        let two = change(&one(&[1.0, 2.0]), &one(&[1.0, 1.0]));
        assert_eq!((two.value(), two.interval()), (1.0, None));
    }

    /// Issue 3: a bootstrap only on request: BCa for a mean, percentiles of clusters, and an interval for a median.
    #[test]
    fn the_bootstrap_replaces_the_formula() {
        let how = Resampling { resamples: 2_000, ..Resampling::new(Seed(7)) };
        let values: Vec<f64> = (0..40).map(|at| f64::from(at * at % 17)).collect();
        let mut observed = one(&values);
        let by_formula = mean_with_t_interval(&values, Level::P95).interval.unwrap();
        let found = at_95(bootstrap_figure(&observed, Aggregate::Mean, &how));
        let (lo, hi) = found.interval().unwrap();
        assert_eq!((found.method(), found.seed()), ("BCa bootstrap", Some(7)));
        assert!((lo - by_formula.lo).abs() < 0.3 && (hi - by_formula.hi).abs() < 0.3, "{found:?}");
        let median = at_95(bootstrap_figure(&observed, Aggregate::Median, &how));
        assert_eq!(median.method(), "median, percentile bootstrap");
        let (few, level) = (Resampling { resamples: 30, ..how }, Level::P95);
        let bounded = |how: &Resampling| {
            bootstrap_figure(&observed, Aggregate::Mean, how).unwrap().finding_at(level).unwrap().interval()
        };
        assert!(bounded(&few).is_none() && bounded(&how).is_some());
        observed.clusters = (0..40).map(|at| at / 4).collect();
        observed.clustered = true;
        let clustered = at_95(bootstrap_figure(&observed, Aggregate::Mean, &how));
        assert_eq!(clustered.method(), "mean, percentile bootstrap");
        assert!(bootstrap_figure(&one(&values[..9]), Aggregate::Mean, &how).is_none());
        assert!(bootstrap_figure(&one(&[1.0; 40]), Aggregate::Mean, &how).is_none());
    }
}
