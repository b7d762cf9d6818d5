//! Observations to one figure with its interval: the choice of method is made here and nowhere else.
//!
//! | observations | method |
//! |---|---|
//! | one system, any score | mean, t interval; above 10,000 samples the normal one |
//! | one system, only 0 and 1 | Wilson |
//! | the dataset names two clusters or more | CR1 with t_{G−1} |
//! | several systems | equal-weight mean of their means, CR1 over samples (or clusters) |
//! | the last two, only 0 and 1 | Wilson at the effective number of observations |

use karat_stats::describe::{
    Proportion, clustered_mean, is_constant, mean, mean_with_normal_interval, mean_with_t_interval, nearest_rank,
    sorted,
};
use karat_stats::interval::Level;

use crate::finding::Finding;

/// Above so many independent observations the normal interval is used.
const LARGE: usize = 10_000;

/// Numbers of one metric with what they belong to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Observations {
    /// The numbers.
    pub(crate) values: Vec<f64>,
    /// Stratum of each: strata weigh the same, however many observations they have.
    pub(crate) strata: Vec<u32>,
    /// Cluster of each: observations of one cluster are not independent.
    pub(crate) clusters: Vec<u32>,
    /// Whether clusters hold more than one observation of a stratum.
    pub(crate) clustered: bool,
}

impl Observations {
    pub(crate) fn push(&mut self, value: f64, stratum: usize, cluster: u32) {
        self.values.push(value);
        self.strata.push(stratum as u32);
        self.clusters.push(cluster);
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    fn is_one_stratum(&self) -> bool {
        self.strata.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// Values by stratum, in the order of the strata.
    fn by_stratum(&self) -> Vec<(u32, Vec<f64>)> {
        let mut groups = std::collections::BTreeMap::<u32, Vec<f64>>::new();
        for (stratum, value) in self.strata.iter().zip(&self.values) {
            groups.entry(*stratum).or_default().push(*value);
        }
        groups.into_iter().collect()
    }
}

/// How samples become one figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aggregate {
    Mean,
    Median,
    Min,
    Max,
    Sum,
    Percentile(u8),
}

impl Aggregate {
    /// From a metric's `aggregate`: `mean`, `median`, `min`, `max`, `sum`, `p1` … `p99`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "mean" => Some(Self::Mean),
            "median" => Some(Self::Median),
            "min" => Some(Self::Min),
            "max" => Some(Self::Max),
            "sum" => Some(Self::Sum),
            _ => text.strip_prefix('p')?.parse().ok().filter(|p| (1..=99).contains(p)).map(Self::Percentile),
        }
    }

    fn of(self, values: &[f64]) -> Option<f64> {
        match self {
            Self::Mean => mean(values),
            Self::Median => karat_stats::describe::median(values),
            Self::Min => values.iter().copied().reduce(f64::min),
            Self::Max => values.iter().copied().reduce(f64::max),
            Self::Sum => Some(karat_stats::sum::sum(values)),
            Self::Percentile(p) => nearest_rank(&sorted(values), f64::from(p) / 100.0),
        }
    }

    fn name(self) -> String {
        match self {
            Self::Mean => "mean".to_owned(),
            Self::Median => "median".to_owned(),
            Self::Min => "min".to_owned(),
            Self::Max => "max".to_owned(),
            Self::Sum => "sum".to_owned(),
            Self::Percentile(p) => format!("p{p} (nearest rank)"),
        }
    }
}

/// The figure of the observations. `None` for none; without an interval where the data define none.
pub(crate) fn figure(observed: &Observations, aggregate: Aggregate, binary: bool, level: Level) -> Option<Finding> {
    if aggregate == Aggregate::Mean {
        return mean_figure(observed, binary, level);
    }
    let strata = observed.by_stratum();
    let each: Option<Vec<f64>> = strata.iter().map(|(_, values)| aggregate.of(values)).collect();
    Finding::point(mean(&each?)?, observed.len(), aggregate.name())
}

/// The mean of the observations, strata weighing the same, without an interval: for observations
/// that are no draw from anything, such as the systems that met one sample.
pub(crate) fn plain_mean(observed: &Observations) -> Option<Finding> {
    let each: Option<Vec<f64>> = observed.by_stratum().iter().map(|(_, values)| mean(values)).collect();
    Finding::point(mean(&each?)?, observed.len(), "mean")
}

fn mean_figure(observed: &Observations, binary: bool, level: Level) -> Option<Finding> {
    let values = &observed.values;
    let rate = binary && values.iter().all(|value| *value <= 0.0 || *value >= 1.0);
    if !observed.is_one_stratum() || observed.clustered {
        return dependent_mean(observed, rate, level);
    }
    let plain = Finding::point(mean(values)?, values.len(), "mean")?;
    if rate {
        let passed = values.iter().filter(|value| **value >= 1.0).count();
        let proportion = Proportion::new(passed as f64, values.len() as f64)?;
        return Some(plain.with(Some(proportion.wilson(level)), None));
    }
    let estimate = if values.len() > LARGE {
        mean_with_normal_interval(values, level)
    } else {
        mean_with_t_interval(values, level)
    };
    Some(plain.with(estimate.interval, estimate.standard_error).degenerate_if(estimate.degenerate))
}

/// Equal-weight mean of the strata's means with a cluster-robust interval.
///
/// A stratum of n_s of the N values, one of S, is carried by pseudo-values
/// y = θ + N/(S·n_s)·(x − x̄_s): their mean is the estimate θ, and their clustered variance is that of
/// θ as a sum of influences. With one stratum, or equally many values in each, y differs from x by
/// the stratum's effect only.
fn dependent_mean(observed: &Observations, rate: bool, level: Level) -> Option<Finding> {
    let strata = observed.by_stratum();
    let means: Vec<f64> = strata.iter().map(|(_, values)| mean(values)).collect::<Option<_>>()?;
    let centre = mean(&means)?;
    let total = observed.len() as f64;
    let pseudo: Vec<f64> = observed
        .values
        .iter()
        .zip(&observed.strata)
        .filter_map(|(value, stratum)| {
            let at = strata.binary_search_by_key(stratum, |(id, _)| *id).ok()?;
            let weight = total / (strata.len() * strata.get(at)?.1.len()) as f64;
            Some(centre + weight * (value - means.get(at)?))
        })
        .collect();
    let robust = clustered_mean(&pseudo, &observed.clusters, level).ok()?;
    let plain = Finding::point(centre, observed.len(), "mean")?;
    if rate {
        let worth = effective_n(centre, robust.standard_error, robust.n_clusters, observed.len());
        let proportion = Proportion::new(centre * worth, worth)?;
        return Some(plain.with(Some(proportion.wilson(level)), robust.standard_error));
    }
    let degenerate = pseudo.len() > 1 && is_constant(&pseudo);
    Some(plain.with(robust.interval, robust.standard_error).degenerate_if(degenerate))
}

/// How many independent observations a rate is worth: p(1−p)/SE², at most n; the number of clusters
/// where the rate does not vary.
fn effective_n(rate: f64, se: Option<f64>, clusters: usize, n: usize) -> f64 {
    let spread = rate * (1.0 - rate);
    match se {
        Some(se) if se > 0.0 && spread > 0.0 => (spread / (se * se)).clamp(1.0, n as f64),
        _ => clusters as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(values: &[f64]) -> Observations {
        let mut observed = Observations::default();
        values.iter().enumerate().for_each(|(at, value)| observed.push(*value, 0, at as u32));
        observed
    }

    #[test]
    fn one_system_gets_the_t_interval() {
        let found = figure(&one(&[1.0, 2.0, 3.0, 4.0]), Aggregate::Mean, false, Level::P95).unwrap();
        let (lo, hi) = found.interval().unwrap();
        assert_eq!((found.value(), found.n(), found.method()), (2.5, 4, "t"));
        // scipy.stats.t.interval(0.95, 3, 2.5, 0.6454972243679028)
        assert!((lo - 0.445_739_743_239_121_2).abs() < 1e-9 && (hi - 4.554_260_256_760_879).abs() < 1e-9);
    }

    /// PE-11: a pass rate has an interval, also where everything passes.
    #[test]
    fn a_rate_gets_wilson_which_does_not_collapse() {
        let found = figure(&one(&[1.0; 12]), Aggregate::Mean, true, Level::P95).unwrap();
        let (lo, hi) = found.interval().unwrap();
        assert_eq!(found.method(), "Wilson");
        assert!(lo < 0.8 && hi >= 1.0);
        assert!(!found.is_degenerate());
    }

    #[test]
    fn nothing_observed_is_no_figure_and_one_value_has_no_interval() {
        assert_eq!(figure(&one(&[]), Aggregate::Mean, false, Level::P95), None);
        let found = figure(&one(&[3.0]), Aggregate::Mean, false, Level::P95).unwrap();
        assert_eq!((found.value(), found.interval()), (3.0, None));
    }

    #[test]
    fn equal_values_are_marked() {
        let found = figure(&one(&[0.1; 7]), Aggregate::Mean, false, Level::P95).unwrap();
        assert!(found.is_degenerate());
    }

    #[test]
    fn systems_weigh_the_same_however_many_samples_they_have() {
        let mut observed = one(&[0.0, 2.0, 4.0, 6.0]);
        observed.push(9.0, 1, 0);
        observed.push(11.0, 1, 1);
        let found = figure(&observed, Aggregate::Mean, false, Level::P95).unwrap();
        assert!((found.value() - 6.5).abs() < 1e-12);
        assert_eq!(found.n(), 6);
    }

    #[test]
    fn a_balanced_matrix_gives_the_t_interval_of_the_sample_means() {
        let (a, b) = ([3.0, 5.0, 8.0, 9.0, 4.0], [2.0, 7.0, 7.0, 8.0, 6.0]);
        let mut observed = one(&a);
        b.iter().enumerate().for_each(|(at, value)| observed.push(*value, 1, at as u32));
        let means: Vec<f64> = a.iter().zip(&b).map(|(a, b)| 0.5 * (a + b)).collect();
        let together = figure(&observed, Aggregate::Mean, false, Level::P95).unwrap();
        let plain = figure(&one(&means), Aggregate::Mean, false, Level::P95).unwrap();
        let ((a, b), (c, d)) = (together.interval().unwrap(), plain.interval().unwrap());
        assert!((a - c).abs() < 1e-12 && (b - d).abs() < 1e-12);
    }

    #[test]
    fn a_rate_over_systems_is_worth_its_samples_when_they_all_agree() {
        let mut observed = one(&[1.0; 10]);
        (0..10).for_each(|at| observed.push(1.0, 1, at));
        let both = figure(&observed, Aggregate::Mean, true, Level::P95).unwrap();
        let one_system = figure(&one(&[1.0; 10]), Aggregate::Mean, true, Level::P95).unwrap();
        assert_eq!(both.interval(), one_system.interval());
    }

    #[test]
    fn clusters_widen_the_interval() {
        let values = [1.0, 1.1, 5.0, 5.1, 9.0, 9.1];
        let mut observed = one(&values);
        observed.clusters = vec![0, 0, 1, 1, 2, 2];
        observed.clustered = true;
        let width = |found: Option<Finding>| found.and_then(|it| it.interval()).map(|(lo, hi)| hi - lo).unwrap();
        let clustered = figure(&observed, Aggregate::Mean, false, Level::P95);
        assert_eq!(clustered.as_ref().unwrap().method(), "cluster t (CR1)");
        assert!(width(clustered) > width(figure(&one(&values), Aggregate::Mean, false, Level::P95)));
    }

    #[test]
    fn percentiles_are_observed_values() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        let p95 = Aggregate::parse("p95").unwrap();
        let found = figure(&one(&values), p95, false, Level::P95).unwrap();
        assert_eq!((found.value(), found.method(), found.interval()), (19.0, "p95 (nearest rank)", None));
        assert_eq!(Aggregate::parse("p100"), None);
        assert_eq!(Aggregate::parse("f1"), None);
    }
}
