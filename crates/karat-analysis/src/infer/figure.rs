//! The interval of a figure. This is the only place that chooses its method; the first row that fits:
//!
//! | values | interval |
//! |---|---|
//! | drawn from strata of a larger set | by the rows of each stratum (`design`) |
//! | of which a cascade's judges graded part | regression estimate with t |
//! | labels, as F1 or balanced accuracy | percentile bootstrap of samples (or clusters); none above 10,000 |
//! | the median or a percentile of one system | order statistics, or the bootstrap that the suite asks for |
//! | a sum | n times that of the mean, or the bootstrap that the suite asks for |
//! | `min` and `max`, and medians of several systems | none, or the bootstrap that the suite asks for |
//! | a pass/fail metric | Wilson; with clusters or several systems at the effective number, with t |
//! | scores of which few vary | by the ends of the scale; without a range none |
//! | scores from 0 to 1 | Wilson at the effective number of shares, with t |
//! | other scores | mean ± t·SE, CR2 with clusters or several systems; or the bootstrap that the suite asks for |
//!
//! Several systems have equal weight and are dependent, because they have the same samples: each of the S systems has n_s of
//! the N values, and pseudo-values y = θ + N/(S·n_s)·(x − x̄_s) stand for them. Their mean is θ, and their clustered variance
//! is that of θ as a sum of influences.

use karat_stats::correction::CascadeBasis;
use karat_stats::describe::{Proportion, mean, mean_with_t_interval};
use karat_stats::inference::{
    Bounded, ClusterRate, Clusters, Commonest, RobustMean, ShareMethod, cluster_rate, commonest, quantile_interval,
    quantile_interval_by_rate, robust_mean, share_mean, tied_design_effect,
};
use karat_stats::interval::Level;

use crate::infer::cascaded::cascade_figure;
use crate::infer::design::drawn_figure;
use crate::infer::finding::Finding;
use crate::infer::measure::{ALIKE, Measure, SHARES, clip_to_range, few_clusters_reason};
use crate::infer::resampled::bootstrap_figure;
use crate::score::observations::{Aggregate, Observations};

impl Measure {
    /// The figure of the observations, its interval within the metric's range. `None` without observations; without an
    /// interval if the data define none.
    pub(crate) fn figure(self, observed: &Observations) -> Option<Finding> {
        let drawn = observed.design.as_ref().and_then(|design| drawn_figure(observed, design, self));
        let found = match (self.aggregate, &observed.cascade) {
            _ if drawn.is_some() => drawn?,
            (Aggregate::Mean, Some(cascade)) => {
                cascade_figure(observed, cascade, CascadeBasis::Population, self.level)?
            }
            (Aggregate::Mean, None) => mean_figure(observed, self)?,
            _ => self.other_figure(observed)?,
        };
        let found = match &observed.design {
            Some(design) if design.is_weighted && found.design().is_none() => {
                let why = format!("{} of a weighted sample is not offered: draw proportionally", self.aggregate.name());
                found.without_interval(&why).leave_open(why)
            }
            _ => found,
        };
        Some(clip_to_range(found, self.range, self.aggregate))
    }

    /// The figure of a cascade's observations with the interval of the mean of these samples.
    pub(crate) fn dataset_figure(self, observed: &Observations) -> Option<Finding> {
        let cascade = observed.cascade.as_ref().filter(|_| self.aggregate == Aggregate::Mean);
        let Some(cascade) = cascade else { return self.figure(observed) };
        let found = cascade_figure(observed, cascade, CascadeBasis::Dataset, self.level)?;
        Some(clip_to_range(found, self.range, self.aggregate))
    }

    /// A figure other than the mean.
    fn other_figure(self, observed: &Observations) -> Option<Finding> {
        if let Some(drawn) = self.resample(observed) {
            return drawn.finding_at(self.level);
        }
        if let Some(found) = self.ordered_figure(observed) {
            return Some(found);
        }
        let strata = observed.by_stratum();
        let each: Option<Vec<f64>> = strata.iter().map(|(_, values)| self.aggregate.of(values)).collect();
        Finding::point(mean(&each?)?, observed.len(), self.aggregate.name())
    }
}

impl Measure {
    /// The median or a percentile of one system with its interval by order statistics, or the sum with that of the mean.
    fn ordered_figure(self, observed: &Observations) -> Option<Finding> {
        let n = observed.len();
        let q = match self.aggregate {
            Aggregate::Median => 0.5,
            Aggregate::Percentile(p) => f64::from(p) / 100.0,
            Aggregate::Sum => return self.sum(observed),
            _ => return None,
        };
        if !observed.is_one_stratum() || n < 2 {
            return None;
        }
        let value = self.aggregate.of(&observed.values)?;
        let clusters = Clusters::new(&observed.clusters);
        let found = if clusters.hold_several() {
            let at_most: Vec<f64> = observed.values.iter().map(|it| f64::from(u8::from(*it <= value))).collect();
            let passes = at_most.iter().filter(|it| **it > 0.0).count();
            let rate = cluster_rate(&at_most, passes, &clusters, 1, self.level).ok()??.interval?;
            quantile_interval_by_rate(&observed.values, q, (rate.lo, rate.hi), self.level)?
        } else {
            quantile_interval(&observed.values, q, self.level)?
        };
        let lacks = match (found.lo, found.hi) {
            (Some(_), Some(_)) => String::new(),
            (None, Some(_)) => format!(": no lower end below {} samples", found.fewest_for_lower),
            (Some(_), None) => format!(": no upper end below {} samples", found.fewest_for_upper),
            (None, None) => {
                format!(": no interval below {} samples", found.fewest_for_lower.min(found.fewest_for_upper))
            }
        };
        let method = format!("{}, order statistics{lacks}", self.aggregate.name());
        let plain = Finding::point(value, n, method)?;
        Some(plain.with_open_ends([found.lo, found.hi], self.level.get()))
    }

    /// n times the mean's interval, where all systems have as many samples.
    fn sum(self, observed: &Observations) -> Option<Finding> {
        let strata = observed.by_stratum();
        let each = strata.first()?.1.len();
        if strata.iter().any(|(_, values)| values.len() != each) || observed.cascade.is_some() {
            return None;
        }
        let of_mean = Self { aggregate: Aggregate::Mean, bootstrap: None, ..self }.figure(observed)?;
        let times = each as f64;
        let plain = Finding::point(of_mean.value() * times, observed.len(), format!("sum, {}", of_mean.method()))?;
        let (lo, hi) = of_mean.interval()?;
        Some(plain.with_open_ends([Some(lo * times), Some(hi * times)], self.level.get()))
    }
}

/// The mean of the observations, with equal weight for each stratum and without an interval: for observations that are
/// no random sample, such as the systems that ran on one sample.
pub(crate) fn plain_mean(observed: &Observations) -> Option<Finding> {
    let each: Option<Vec<f64>> = observed.by_stratum().iter().map(|(_, values)| mean(values)).collect();
    Finding::point(mean(&each?)?, observed.len(), "mean")
}

/// The mean of independent values from 0 to 1: of passes and fails, or of shares.
pub(crate) fn share_of(values: impl IntoIterator<Item = f64>, level: Level) -> Option<Finding> {
    let mut observed = Observations::default();
    values.into_iter().enumerate().for_each(|(at, value)| observed.push(value, 0, at as u32));
    let measure = Measure::of_mean(true, None, level);
    Measure { binary: measure.is_rate(&observed), range: Some(SHARES), ..measure }.figure(&observed)
}

/// The values of a mean, ready for its interval.
struct Sample<'a> {
    /// As measured.
    shown: &'a [f64],
    /// The same, or pseudo-values of several systems.
    values: Vec<f64>,
    clusters: Clusters,
    systems: usize,
    level: Level,
}

impl Sample<'_> {
    /// Returns true if the values are not independent of each other.
    fn is_dependent(&self) -> bool {
        self.clusters.hold_several()
    }

    fn tied_value(&self) -> Option<Commonest> {
        commonest(&self.values).filter(|found| found.n > 1 && found.is_tied())
    }
}

fn mean_figure(observed: &Observations, measure: Measure) -> Option<Finding> {
    let (values, systems) = pseudo_values(observed)?;
    let clusters = Clusters::new(&observed.clusters);
    let sample = Sample { shown: &observed.values, values, clusters, systems, level: measure.level };
    let plain = Finding::point(mean(&sample.values)?, observed.len(), "mean")?;
    let is_rate = measure.is_rate(observed);
    let range = measure.scale();
    if is_rate {
        rate(plain, &sample)
    } else if sample.clusters.len() < 2 {
        Some(plain)
    } else if let Some(found) = sample.tied_value() {
        tied_figure(plain, &sample, found, range)
    } else if range == Some(SHARES) {
        share(plain, &sample)
    } else {
        let asked = measure.bootstrap.and_then(|how| bootstrap_figure(observed, Aggregate::Mean, &how));
        match asked {
            Some(drawn) => drawn.finding_at(measure.level),
            None => score(plain, &sample),
        }
    }
}

fn rate(plain: Finding, sample: &Sample<'_>) -> Option<Finding> {
    let passes = sample.shown.iter().filter(|value| **value >= 1.0).count();
    if !sample.is_dependent() {
        let proportion = Proportion::new(passes as f64, sample.shown.len() as f64)?;
        return Some(plain.with_interval(Some(proportion.wilson(sample.level)), None));
    }
    let found = cluster_rate(&sample.values, passes, &sample.clusters, sample.systems, sample.level).ok()??;
    let ClusterRate { design_effect, effective_n, interval, .. } = found;
    let Some(interval) = interval else { return Some(plain) };
    let method = format!("{}, effective n {effective_n:.1}, design effect {design_effect:.2}", interval.method);
    let whole = plain.with_interval(Some(interval), found.standard_error).with_method(method);
    Some(with_freedom(whole, found.df, sample))
}

fn tied_figure(plain: Finding, sample: &Sample<'_>, found: Commonest, range: Option<(f64, f64)>) -> Option<Finding> {
    let effect = tied_design_effect(&sample.values, &sample.clusters).ok()?;
    let bounded = Bounded::new(&sample.values, effect)?;
    let interval = range.and_then(|(min, max)| bounded.interval(min, max, sample.level));
    let error = robust_mean(&sample.values, &sample.clusters, sample.level).ok()?.standard_error;
    let whole = plain.with_interval(interval, error.filter(|_| interval.is_some())).mark_few_vary();
    Some(if interval.is_some() { whole } else { whole.leave_open(no_range_reason(found, "values")) })
}

/// The reason why values of which few vary say nothing of others, if their metric has no range.
pub(super) fn no_range_reason(found: Commonest, what: &str) -> String {
    let Commonest { n, others, .. } = found;
    let rest = "and the metric has no range, so they say nothing of others";
    match others {
        0 => format!("all {n} {what} are equal {rest}"),
        _ => format!("only {others} of {n} {what} differ, {rest}"),
    }
}

fn share(plain: Finding, sample: &Sample<'_>) -> Option<Finding> {
    let found = share_mean(&sample.values, sample.shown, &sample.clusters, sample.level).ok()?;
    let (Some(interval), Some(worth), ShareMethod::Share) = (found.interval, found.effective_n, found.method) else {
        return Some(plain.leave_open(ALIKE));
    };
    let method = format!("{}, effective n {worth:.1}", interval.method);
    let whole = plain.with_interval(Some(interval), found.standard_error).with_method(method);
    Some(with_freedom(whole, found.df, sample))
}

fn score(plain: Finding, sample: &Sample<'_>) -> Option<Finding> {
    if !sample.is_dependent() {
        let found = mean_with_t_interval(&sample.values, sample.level);
        let whole = plain.with_interval(found.interval, found.standard_error);
        return Some(with_freedom(whole, found.df, sample));
    }
    let found: RobustMean = robust_mean(&sample.values, &sample.clusters, sample.level).ok()?;
    if found.alike {
        return Some(plain.leave_open(ALIKE));
    }
    let whole = plain.with_interval(found.interval, found.standard_error);
    Some(with_freedom(whole, found.df, sample))
}

/// Adds the degrees of freedom, and what follows from few.
fn with_freedom(found: Finding, df: Option<f64>, sample: &Sample<'_>) -> Finding {
    let Some(df) = df else { return found };
    if !sample.is_dependent() {
        return found.with_df(df);
    }
    let found = found.with_clusters(df);
    match few_clusters_reason(sample.clusters.len(), df) {
        Some(why) => found.leave_open(why),
        None => found,
    }
}

/// The values, or the pseudo-values of several systems, and the number of systems.
fn pseudo_values(observed: &Observations) -> Option<(Vec<f64>, usize)> {
    if observed.is_one_stratum() {
        return Some((observed.values.clone(), 1));
    }
    let strata = observed.by_stratum();
    let means: Vec<f64> = strata.iter().map(|(_, values)| mean(values)).collect::<Option<_>>()?;
    let (centre, total) = (mean(&means)?, observed.len() as f64);
    let pseudo = observed.values.iter().zip(&observed.strata).filter_map(|(value, stratum)| {
        let at = strata.binary_search_by_key(stratum, |(id, _)| *id).ok()?;
        let weight = total / (strata.len() * strata.get(at)?.1.len()) as f64;
        Some(centre + weight * (value - means.get(at)?))
    });
    Some((pseudo.collect(), strata.len()))
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

    fn figure(observed: &Observations, binary: bool, range: Option<(f64, f64)>) -> Option<Finding> {
        Measure::of_mean(binary, range, Level::P95).figure(observed)
    }

    #[test]
    fn one_system_gets_the_t_interval() {
        let found = figure(&one(&[1.0, 2.0, 3.0, 4.0]), false, None).unwrap();
        let (lo, hi) = found.interval().unwrap();
        assert_eq!((found.value(), found.n(), found.method(), found.df()), (2.5, 4, "t", Some(3.0)));
        // scipy.stats.t.interval(0.95, 3, 2.5, 0.6454972243679028)
        assert!((lo - 0.445_739_743_239_121_2).abs() < 1e-9 && (hi - 4.554_260_256_760_879).abs() < 1e-9);
    }

    /// PE-11: a pass rate has an interval even if everything passes.
    #[test]
    fn a_rate_has_the_wilson_interval() {
        let found = figure(&one(&[1.0; 12]), true, None).unwrap();
        let (lo, hi) = found.interval().unwrap();
        assert_eq!((found.method(), found.few_vary(), found.open()), ("Wilson", false, None));
        assert!(lo < 0.8 && hi >= 1.0);
    }

    #[test]
    fn no_value_has_no_figure_and_one_value_has_no_interval() {
        assert_eq!(figure(&one(&[]), false, None), None);
        let found = figure(&one(&[3.0]), false, Some((1.0, 5.0))).unwrap();
        assert_eq!((found.value(), found.interval()), (3.0, None));
    }

    /// DC-03: values of which few vary have the interval of their scale; without one they decide nothing.
    #[test]
    fn few_varying_values_say_little() {
        let mut values = [5.0; 60];
        let found = figure(&one(&values), false, Some((1.0, 5.0))).unwrap();
        assert!(found.few_vary() && found.open().is_none(), "{found:?}");
        assert!(found.interval().is_some_and(|(lo, hi)| lo < 4.8 && hi >= 5.0), "{found:?}");
        values[..3].copy_from_slice(&[4.0, 3.0, 4.0]);
        let found = figure(&one(&values), false, Some((1.0, 5.0))).unwrap();
        assert_eq!(found.method(), "bounded, few values vary");
        let open = |values: &[f64]| figure(&one(values), false, None).unwrap();
        let (some, none) = (open(&values), open(&[0.1; 7]));
        assert_eq!((some.interval(), none.interval()), (None, None));
        let rest = "and the metric has no range, so they say nothing of others";
        assert_eq!(some.open(), Some(format!("only 3 of 60 values differ, {rest}").as_str()));
        assert_eq!(none.open(), Some(format!("all 7 values are equal {rest}").as_str()));
    }

    /// DC-03: the bootstrap that a suite asks for knows no more of values that do not vary.
    #[test]
    fn a_bootstrap_gives_way_where_few_values_vary() {
        use karat_stats::bootstrap::Resampling;
        use karat_stats::numeric::seed::Seed;
        let how = Resampling { resamples: 500, ..Resampling::new(Seed(7)) };
        let of = |values: &[f64], range| {
            let measure = Measure { bootstrap: Some(how), ..Measure::of_mean(false, range, Level::P95) };
            measure.figure(&one(values)).unwrap().method().to_owned()
        };
        let mut values = vec![4.0; 40];
        values[0] = 2.0;
        assert_eq!(of(&values, Some((1.0, 5.0))), "bounded, few values vary");
        let varied: Vec<f64> = (0..40).map(|at| 1.0 + f64::from(at % 5)).collect();
        assert_eq!(of(&varied, Some((1.0, 5.0))), "BCa bootstrap");
    }

    /// DC-15: shares have the interval of their scale.
    #[test]
    fn shares_stay_within_0_and_1() {
        let values: Vec<f64> = (0..40).map(|at| if at % 4 == 0 { 0.6 + 0.005 * f64::from(at) } else { 1.0 }).collect();
        let found = figure(&one(&values), false, Some((0.0, 1.0))).unwrap();
        assert!(found.method().starts_with("share Wilson (t), effective n "), "{found:?}");
        assert!(found.interval().is_some_and(|(lo, hi)| lo < found.value() && hi < 1.0), "{found:?}");
    }

    #[test]
    fn systems_have_equal_weight() {
        let mut observed = one(&[0.0, 2.0, 4.0, 6.0]);
        observed.push(9.0, 1, 0);
        observed.push(11.0, 1, 1);
        let found = figure(&observed, false, None).unwrap();
        assert!((found.value() - 6.5).abs() < 1e-12);
        assert_eq!(found.n(), 6);
    }

    #[test]
    fn a_balanced_matrix_gives_the_t_interval_of_the_sample_means() {
        let (a, b) = ([3.0, 5.0, 8.0, 9.0, 4.0], [2.0, 7.0, 7.0, 8.0, 6.0]);
        let mut observed = one(&a);
        b.iter().enumerate().for_each(|(at, value)| observed.push(*value, 1, at as u32));
        let means: Vec<f64> = a.iter().zip(&b).map(|(a, b)| 0.5 * (a + b)).collect();
        let together = figure(&observed, false, None).unwrap();
        let plain = figure(&one(&means), false, None).unwrap();
        let ((a, b), (c, d)) = (together.interval().unwrap(), plain.interval().unwrap());
        assert!((a - c).abs() < 1e-12 && (b - d).abs() < 1e-12);
    }

    /// DC-11: the cells of systems that agree count once.
    #[test]
    fn equal_rates_of_systems_count_their_samples_once() {
        let mut observed = one(&[1.0; 10]);
        (0..10).for_each(|at| observed.push(1.0, 1, at));
        let both = figure(&observed, true, None).unwrap();
        assert!(both.method().contains("effective n 10.0, design effect 2.00"), "{both:?}");
    }

    /// DC-10: clusters widen the interval, and below 4 degrees of freedom decide nothing.
    #[test]
    fn clusters_widen_the_interval() {
        let values = [1.0, 1.1, 5.0, 5.1, 9.0, 9.1];
        let mut observed = one(&values);
        observed.clusters = vec![0, 0, 1, 1, 2, 2];
        let width = |found: &Finding| found.interval().map(|(lo, hi)| hi - lo).unwrap();
        let clustered = figure(&observed, false, None).unwrap();
        assert_eq!((clustered.method(), clustered.df()), ("cluster t (CR2)", Some(2.0)));
        assert_eq!(clustered.open(), Some("3 clusters, worth 3.0 of equal size: too few to decide"));
        assert!(width(&clustered) > width(&figure(&one(&values), false, None).unwrap()));
    }

    /// PE-11, DC-11: the method of a rate of clusters reports the effective n, and one cluster has no interval.
    #[test]
    fn a_rate_of_clusters_uses_the_quantile_of_their_number() {
        let mut observed = one(&[1.0; 18]);
        observed.clusters = (0..18).map(|at| at / 6).collect();
        [0, 1, 2, 6].into_iter().for_each(|at| observed.values[at] = 0.0);
        let found = figure(&observed, true, None).unwrap();
        assert!(found.method().starts_with("cluster Wilson (t), effective n 8.5, design effect 2.1"), "{found:?}");
        let (lo, hi) = found.interval().unwrap();
        assert!((lo - 0.193_624).abs() < 1e-5 && (hi - 0.980_776).abs() < 1e-5, "{found:?}");
        observed.clusters.fill(0);
        let one_cluster = figure(&observed, true, None).unwrap();
        assert_eq!((one_cluster.interval(), one_cluster.method()), (None, "mean"));
    }

    /// Invariant: clusters with equal means by chance give no interval.
    #[test]
    fn equal_clusters_have_no_interval() {
        let mut observed = one(&[0.1, 0.2, 0.3, 0.3, 0.2, 0.1]);
        observed.clusters = vec![0, 0, 0, 1, 1, 1];
        for range in [None, Some((0.0, 1.0))] {
            let found = figure(&observed, false, range).unwrap();
            assert_eq!(
                (found.interval(), found.sign(), found.open()),
                (None, None, Some("all clusters have one mean"))
            );
        }
    }

    fn aggregated(observed: &Observations, aggregate: Aggregate) -> Option<Finding> {
        Measure { aggregate, ..Measure::of_mean(false, None, Level::P95) }.figure(observed)
    }

    /// Invariant: F1 over samples has a bootstrap interval with its seed; without labels there is none.
    #[test]
    fn f1_is_computed_from_the_labels() {
        let mut observed = Observations::default();
        for at in 0..40_u32 {
            let (expected, found) = (u32::from(at % 4 == 0), u32::from(at % 4 == 0 && at % 8 == 0));
            observed.push_labelled(f64::from(u8::from(expected == found)), Some((expected, found)), 0, at);
        }
        // sklearn.metrics.f1_score(average="macro"): precision and recall of 0 are 30/35 and 1, of 1 are 1 and 5/10
        let found = aggregated(&observed, Aggregate::Labels(LabelFigure::MacroF1)).unwrap();
        assert!((found.value() - 0.5 * (60.0 / 65.0 + 10.0 / 15.0)).abs() < 1e-12, "{found:?}");
        assert_eq!((found.method(), found.seed()), ("macro F1, percentile bootstrap", Some(1)));
        assert_eq!(aggregated(&one(&[1.0; 12]), Aggregate::Labels(LabelFigure::MacroF1)), None);
        let macro_f1 = |declared: usize, pair: (u32, u32)| {
            let mut some = Observations { declared, ..observed.clone() };
            some.push_labelled(f64::from(u8::from(pair.0 == pair.1)), Some(pair), 0, 40);
            aggregated(&some, Aggregate::Labels(LabelFigure::MacroF1)).unwrap().value()
        };
        // A third label, right once: f1_score(…) counts it; an undeclared output matches no label, f1_score(…,
        // labels=[0, 1]).
        assert!((macro_f1(0, (2, 2)) - (60.0 / 65.0 + 10.0 / 15.0 + 1.0) / 3.0).abs() < 1e-12);
        assert!((macro_f1(2, (0, 2)) - 0.5 * (60.0 / 66.0 + 10.0 / 15.0)).abs() < 1e-12);
        // A declared label that never occurs has an F1 of 0.
        assert!((macro_f1(4, (2, 2)) - (60.0 / 65.0 + 10.0 / 15.0 + 1.0) / 4.0).abs() < 1e-12);
    }

    /// DC-12: a median has an interval of observed values, a sum n times that of the mean, and two systems' median has none.
    #[test]
    fn medians_and_sums_have_intervals() {
        let values: Vec<f64> = (1..=30).map(f64::from).collect();
        let median = aggregated(&one(&values), Aggregate::Median).unwrap();
        // qbinom(0.025, 30, 0.5) = 10, qbinom(0.975, 30, 0.5) + 1 = 21
        assert_eq!((median.value(), median.interval()), (15.5, Some((10.0, 21.0))));
        let mean = figure(&one(&values), false, None).unwrap().interval().unwrap();
        let sum = aggregated(&one(&values), Aggregate::Sum).unwrap();
        let (lo, hi) = sum.interval().unwrap();
        assert!(
            (sum.value() - 465.0).abs() < 1e-9
                && (lo - 30.0 * mean.0).abs() < 1e-9
                && (hi - 30.0 * mean.1).abs() < 1e-9
        );
        let mut clustered = one(&values);
        clustered.clusters = (0..30).map(|at| at / 3).collect();
        let wider = aggregated(&clustered, Aggregate::Median).unwrap().interval().unwrap();
        assert!(wider.0 < 10.0 && wider.1 > 21.0, "{wider:?}");
        let mut both = one(&values);
        (0..30).for_each(|at| both.push(f64::from(at), 1, at));
        assert_eq!(aggregated(&both, Aggregate::Median).unwrap().ends(), None);
        assert_eq!(aggregated(&one(&values), Aggregate::Max).unwrap().ends(), None);
    }

    /// DC-12: percentiles are observed values, and an end beyond the data is open.
    #[test]
    fn percentiles_are_observed_values() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        let p95 = Aggregate::parse("p95").unwrap();
        let found = aggregated(&one(&values), p95).unwrap();
        assert_eq!((found.value(), found.interval()), (19.0, None));
        assert_eq!(found.ends(), Some([Some(17.0), None]));
        assert_eq!(found.method(), "p95 (nearest rank), order statistics: no upper end below 72 samples");
        assert_eq!(Aggregate::parse("p100"), None);
        assert_eq!(Aggregate::parse("f2"), None);
    }
}
