//! Turns observations into a figure with its interval. This is the only place that chooses the method.
//!
//! | observations | method |
//! |---|---|
//! | one system, any score | mean, t interval; above 10,000 samples the normal one |
//! | one system, only 0 and 1 | Wilson |
//! | the dataset names two clusters or more | CR1 with t_{G−1} |
//! | several systems | equal-weight mean of their means, CR1 over samples (or clusters) |
//! | the last two, only 0 and 1 | Wilson at the effective number of observations, of clusters with t_{G−1} |
//! | clusters whose means are all alike though their values are not | no interval |
//! | any of these, where a cascade's judges graded part of the cells | regression estimate with t |
//! | any of the others, where the suite asks for a bootstrap | BCa of independent observations, else percentiles of clusters; from 10 on |
//! | labels, as F1 or balanced accuracy | percentile bootstrap of samples (or clusters); none above 10,000 |

use karat_stats::correction::CascadeBasis;
use karat_stats::describe::{
    ClusteredMean, Proportion, clustered_mean, is_constant, mean, mean_with_normal_interval, mean_with_t_interval,
};
use karat_stats::interval::Level;

use crate::figures::cascaded::cascade_figure;
use crate::figures::finding::Finding;
use crate::figures::resampled::label_figure;
pub(crate) use crate::score::observations::{Aggregate, BOOTSTRAP_FROM, Observations, RESAMPLED_UP_TO};

/// The figure of the observations. `None` without observations; without an interval if the data define none.
pub(crate) fn figure(observed: &Observations, aggregate: Aggregate, binary: bool, level: Level) -> Option<Finding> {
    if let (Aggregate::Mean, Some(cascade)) = (aggregate, &observed.cascade) {
        return cascade_figure(observed, cascade, CascadeBasis::Population, level);
    }
    if aggregate == Aggregate::Mean {
        return mean_figure(observed, binary, level);
    }
    if aggregate.uses_labels() {
        return label_figure(observed, aggregate)?.finding_at(level);
    }
    let strata = observed.by_stratum();
    let each: Option<Vec<f64>> = strata.iter().map(|(_, values)| aggregate.of(values)).collect();
    Finding::point(mean(&each?)?, observed.len(), aggregate.name())
}

/// The mean of the observations, with equal weight for each stratum and without an interval: for observations that are
/// no random sample, such as the systems that ran on one sample.
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
        return Some(plain.with_interval(Some(proportion.wilson(level)), None));
    }
    let estimate = if values.len() > RESAMPLED_UP_TO {
        mean_with_normal_interval(values, level)
    } else {
        mean_with_t_interval(values, level)
    };
    Some(plain.with_interval(estimate.interval, estimate.standard_error).mark_degenerate(estimate.degenerate))
}

/// Equal-weight mean of the strata's means with a cluster-robust interval.
///
/// Each of the S strata has n_s of the N values and is represented by pseudo-values
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
        return rate_of_clusters(plain, &robust, observed.clustered, level);
    }
    let equal = is_constant(&pseudo);
    if robust.degenerate && !equal {
        return Some(plain.with_method("mean, all clusters alike"));
    }
    Some(plain.with_interval(robust.interval, robust.standard_error).mark_degenerate(robust.degenerate))
}

/// A rate with Wilson's interval at the effective number of independent observations. One cluster alone has no
/// interval, as for means.
fn rate_of_clusters(plain: Finding, robust: &ClusteredMean, clustered: bool, level: Level) -> Option<Finding> {
    let worth = effective_n(plain.value(), robust);
    let proportion = Proportion::new(plain.value() * worth, worth)?;
    if !clustered {
        return Some(plain.with_interval(Some(proportion.wilson(level)), robust.standard_error));
    }
    let Some(interval) = robust.df.and_then(|df| proportion.cluster_wilson(df, level)) else { return Some(plain) };
    let effect = robust.n as f64 / worth;
    let method = format!("{}, effective n {worth:.1}, design effect {effect:.2}", interval.method);
    Some(plain.with_interval(Some(interval), robust.standard_error).with_method(method))
}

/// The effective number of independent observations of a rate: s²/SE², where s² = p(1−p)·n/(n−1), at most n. The number
/// of clusters if the rate does not vary between them.
fn effective_n(rate: f64, robust: &ClusteredMean) -> f64 {
    let n = robust.n as f64;
    let variance = rate * (1.0 - rate) * n / (n - 1.0);
    match robust.standard_error {
        Some(se) if !robust.degenerate && variance > 0.0 => (variance / (se * se)).clamp(1.0, n),
        _ => robust.n_clusters as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::classification::LabelFigure;

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

    /// PE-11: a pass rate has an interval even if everything passes.
    #[test]
    fn a_rate_has_the_wilson_interval() {
        let found = figure(&one(&[1.0; 12]), Aggregate::Mean, true, Level::P95).unwrap();
        let (lo, hi) = found.interval().unwrap();
        assert_eq!(found.method(), "Wilson");
        assert!(lo < 0.8 && hi >= 1.0);
        assert!(!found.is_degenerate());
    }

    #[test]
    fn no_value_has_no_figure_and_one_value_has_no_interval() {
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
    fn systems_have_equal_weight() {
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
    fn equal_rates_of_systems_count_their_samples_once() {
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

    /// PE-11: few clusters widen a rate's interval by t, the method reports the effective n, and one cluster has no
    /// interval. Reference: 14 of 18 with CR1, Wilson at s²/SE² with scipy.stats.t.ppf(0.975, 2).
    #[test]
    fn a_rate_of_clusters_uses_the_quantile_of_their_number() {
        let mut observed = one(&[1.0; 18]);
        (observed.clusters, observed.clustered) = ((0..18).map(|at| at / 6).collect(), true);
        [0, 1, 2, 6].into_iter().for_each(|at| observed.values[at] = 0.0);
        let found = figure(&observed, Aggregate::Mean, true, Level::P95).unwrap();
        assert!(found.method().starts_with("cluster Wilson (t), effective n 8.5, design effect 2.12"), "{found:?}");
        let (lo, hi) = found.interval().unwrap();
        assert!((lo - 0.193_624).abs() < 1e-5 && (hi - 0.980_776).abs() < 1e-5, "{found:?}");
        observed.clusters.fill(0);
        let one_cluster = figure(&observed, Aggregate::Mean, true, Level::P95).unwrap();
        assert_eq!((one_cluster.interval(), one_cluster.method()), (None, "mean"));
    }

    /// Invariant: clusters with equal means by chance give no interval.
    #[test]
    fn equal_clusters_have_no_interval() {
        let mut observed = one(&[0.0, 0.5, 0.0, 0.0, 0.0, 0.5]);
        (observed.clusters, observed.clustered) = (vec![0, 0, 0, 1, 1, 1], true);
        let found = figure(&observed, Aggregate::Mean, false, Level::P95).unwrap();
        assert_eq!((found.interval(), found.sign(), found.method()), (None, None, "mean, all clusters alike"));
    }

    /// Invariant: F1 over samples has a bootstrap interval with its seed; without labels there is none.
    #[test]
    fn f1_is_computed_from_the_labels() {
        let mut observed = Observations::default();
        for at in 0..40_u32 {
            let (expected, found) = (u16::from(at % 4 == 0), u16::from(at % 4 == 0 && at % 8 == 0));
            observed.push_labelled(f64::from(u8::from(expected == found)), Some((expected, found)), 0, at);
        }
        // sklearn.metrics.f1_score(average="macro"): precision and recall of 0 are 30/35 and 1, of 1 are 1 and 5/10
        let found = figure(&observed, Aggregate::Labels(LabelFigure::MacroF1), true, Level::P95).unwrap();
        assert!((found.value() - 0.5 * (60.0 / 65.0 + 10.0 / 15.0)).abs() < 1e-12, "{found:?}");
        assert_eq!((found.method(), found.seed()), ("macro F1, percentile bootstrap", Some(1)));
        assert_eq!(figure(&one(&[1.0; 12]), Aggregate::Labels(LabelFigure::MacroF1), true, Level::P95), None);
        let macro_f1 = |declared: usize, pair: (u16, u16)| {
            let mut some = Observations { declared, ..observed.clone() };
            some.push_labelled(f64::from(u8::from(pair.0 == pair.1)), Some(pair), 0, 40);
            figure(&some, Aggregate::Labels(LabelFigure::MacroF1), true, Level::P95).unwrap().value()
        };
        // A third label, right once: f1_score(…) counts it; an undeclared output matches no label, f1_score(…,
        // labels=[0, 1]).
        assert!((macro_f1(0, (2, 2)) - (60.0 / 65.0 + 10.0 / 15.0 + 1.0) / 3.0).abs() < 1e-12);
        assert!((macro_f1(2, (0, 2)) - 0.5 * (60.0 / 66.0 + 10.0 / 15.0)).abs() < 1e-12);
        // A declared label that never occurs has an F1 of 0.
        assert!((macro_f1(4, (2, 2)) - (60.0 / 65.0 + 10.0 / 15.0 + 1.0) / 4.0).abs() < 1e-12);
    }

    #[test]
    fn percentiles_are_observed_values() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        let p95 = Aggregate::parse("p95").unwrap();
        let found = figure(&one(&values), p95, false, Level::P95).unwrap();
        assert_eq!((found.value(), found.method(), found.interval()), (19.0, "p95 (nearest rank)", None));
        assert_eq!(Aggregate::parse("p100"), None);
        assert_eq!(Aggregate::parse("f2"), None);
    }
}
