//! Agreement coefficients of raters (judges or people) on the items that they share, each with its interval where one
//! is defined.
//!
//! | form | for | interval |
//! |---|---|---|
//! | bias, mean absolute difference | any two raters | t, cluster-robust over samples |
//! | share equal; within one step of 1 | any two; scales with steps | Wilson, of clusters at their effective number |
//! | limits of agreement | two raters | t |
//! | root mean square of the differences, concordance (CCC) | two raters | percentile bootstrap of items |
//! | Cohen's κ, quadratic on a scale | two raters on declared steps | large-sample normal, below 50 items percentile bootstrap |
//! | Gwet's AC1 or AC2 | two raters on declared steps | t |
//! | Pearson; Spearman, Kendall τ-b | two raters | Fisher z; percentile bootstrap of items |
//! | Krippendorff's α | any number, items may lack some | percentile bootstrap of items; of samples with several, jackknife |
//! | Fleiss' κ, and Randolph's (free-marginal) | three raters and more on declared steps, items that all rated | percentile bootstrap of items |
//! | ICC(2,1) of one rater, ICC(2,k) of the panel's mean | items that all rated | F; of samples with several, jackknife |
//!
//! A bootstrap draws whole samples (or clusters of samples) 1,000 times, from 10 to 10,000 items. If samples hold several
//! items, or the dataset names clusters, it replaces every formula for independent items. With fewer than 50 such samples
//! (and at least 3), ICC and α use the jackknife that leaves out one sample at a time, because a bootstrap of few samples
//! covers too seldom. A single item has no interval.

use std::collections::{BTreeMap, BTreeSet};

use karat_stats::agreement::{
    BlandAltman, Contingency, CountTable, FleissKappa, IccCoefficients, Measurement, Ratings, Weighting, cohen_kappa,
    fleiss_kappa, gwet_ac, icc, judge_error, kendall_tau_b, krippendorff_alpha, pearson, score_indices, spearman,
};
use karat_stats::bootstrap::{Distribution, Resampling, bootstrap_indices, jackknife_fisher};
use karat_stats::interval::{Interval, Level, Method};
use karat_stats::numeric::seed::Seed;
use serde::Serialize;

use crate::infer::finding::Finding;
use crate::infer::measure::Measure;
use crate::score::observations::{BOOTSTRAP_FROM, Observations, RESAMPLED_UP_TO};

/// Number of resamples of a coefficient.
const RESAMPLES: usize = 1_000;

/// Seed of the resamples.
const SEED: Seed = Seed(1);

/// With at least this many clusters ICC and α are bootstrapped; with fewer, their interval is the jackknife's.
const JACKKNIFED_BELOW: usize = 50;

/// The least number of items for the large-sample interval of κ.
const KAPPA_FROM: usize = 50;

/// One item with its grades, by rater.
#[derive(Debug, Clone)]
pub(crate) struct GradedItem {
    /// The cluster whose items are not independent: the sample, or the sample's cluster.
    pub(crate) cluster: u32,
    pub(crate) grades: Vec<Option<f64>>,
}

/// The raters and the scale.
pub(crate) struct Panel<'a> {
    /// Names of the raters.
    pub(crate) raters: &'a [String],
    /// The values of the scale, where it has steps.
    pub(crate) scale: Option<Vec<f64>>,
    /// Lowest and highest possible grade, if bounded.
    pub(crate) range: Option<(f64, f64)>,
    pub(crate) level: Level,
}

/// The outcome of comparing how far two raters agree with a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PairVerdict {
    /// They agree enough.
    Pass,
    /// These items do not decide it.
    Undecided,
    /// They do not agree enough.
    Fail,
}

/// Two raters in one metric. Differences are first − second, in the metric's unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgePair {
    /// The raters.
    pub judges: (String, String),
    /// Mean of |a − b| over shared items.
    pub mean_abs_difference: Finding,
    /// 1 − the mean of |a − b| as a share of the scale; where the scale has two ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Finding>,
    /// The verdict on `agreement`, where a threshold was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<PairVerdict>,
    /// Mean of a − b: positive if the first rater is more lenient.
    pub bias: Finding,
    /// ICC(2,1) of these two, on the items that both graded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icc: Option<Finding>,
    /// Krippendorff's α of these two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<Finding>,
    /// Root of the mean squared difference.
    pub rms_difference: Finding,
    /// Share of items with equal grades.
    pub exact: Finding,
    /// Share of items whose grades differ by at most 1; where the scale has steps and more than two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_one: Option<Finding>,
    /// Bland & Altman's limits of agreement: about 95 % of the differences lie between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<(Finding, Finding)>,
    /// Lin's concordance correlation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concordance: Option<Finding>,
    /// Cohen's κ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kappa: Option<Finding>,
    /// Gwet's AC1 (two values) or AC2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ac: Option<Finding>,
    /// Pearson's correlation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pearson: Option<Finding>,
    /// Spearman's rank correlation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spearman: Option<Finding>,
    /// Kendall's τ-b.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kendall: Option<Finding>,
}

/// Raters in one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricAgreement {
    /// Items that at least two of the raters graded.
    pub n: u64,
    /// ICC(2,1), absolute agreement of a single rater, on the items that all graded.
    pub icc: Option<Finding>,
    /// ICC(2,k), absolute agreement of the mean of all raters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icc_panel: Option<Finding>,
    /// Krippendorff's α; items may lack raters.
    pub alpha: Option<Finding>,
    /// Fleiss' κ of three raters and more on the steps of a scale, on the items that all graded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleiss: Option<Finding>,
    /// Randolph's free-marginal κ of the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub randolph: Option<Finding>,
    /// Each two raters.
    pub pairs: Vec<JudgePair>,
}

/// Computes every coefficient of the raters on the items.
pub(crate) fn agreement(items: &[GradedItem], panel: &Panel<'_>) -> MetricAgreement {
    let raters = panel.raters.len();
    let pairs = (0..raters).flat_map(|a| (a + 1..raters).map(move |b| (a, b)));
    let pairs: Vec<JudgePair> = pairs.filter_map(|pair| pair_agreement(items, pair, panel)).collect();
    let (icc, icc_panel) = intraclass_correlations(items, panel.level);
    let alpha = match pairs.first().filter(|_| raters == 2) {
        Some(both) => both.alpha.clone(),
        None => alpha(items, panel),
    };
    MetricAgreement {
        n: items.len() as u64,
        icc,
        icc_panel,
        alpha,
        fleiss: panel_kappa(items, panel, "Fleiss' kappa", |found| found.fleiss),
        randolph: panel_kappa(items, panel, "Randolph's kappa", |found| found.randolph),
        pairs,
    }
}

/// True if some items are not independent of others.
fn is_clustered(clusters: impl ExactSizeIterator<Item = u32>) -> bool {
    let all = clusters.len();
    clusters.collect::<BTreeSet<u32>>().len() < all
}

/// The items that every rater graded.
fn complete_items(items: &[GradedItem]) -> Vec<GradedItem> {
    items.iter().filter(|item| item.grades.iter().all(Option::is_some)).cloned().collect()
}

/// ICC(2,1) and ICC(2,k) of the items that all raters graded, with the interval of the F distribution if items are
/// independent.
fn intraclass_correlations(items: &[GradedItem], level: Level) -> (Option<Finding>, Option<Finding>) {
    let of = |items: &mut dyn Iterator<Item = &GradedItem>| {
        let complete = items.filter_map(|item| item.grades.iter().copied().collect::<Option<Vec<f64>>>());
        let complete: Vec<Vec<f64>> = complete.collect();
        Some((icc(&complete, level).ok()??, complete.len()))
    };
    let items = &complete_items(items);
    let Some((found, n)) = of(&mut items.iter()) else { return (None, None) };
    let clustered = is_clustered(items.iter().map(|item| item.cluster));
    let coefficient = |which: fn(&IccCoefficients) -> Option<f64>, interval: Option<Interval>, name: &'static str| {
        let point = Finding::point(which(&found.coefficients)?, n, name)?;
        Some(match clustered {
            true => with_cluster_interval(point, items, level, |items| which(&of(items)?.0.coefficients)),
            false => point.with_named_interval(interval),
        })
    };
    (
        coefficient(|it| it.single_absolute, found.single_absolute_interval, "ICC(2,1)"),
        coefficient(|it| it.average_absolute, found.average_absolute_interval, "ICC(2,k)"),
    )
}

fn alpha(items: &[GradedItem], panel: &Panel<'_>) -> Option<Finding> {
    let (measurement, name) = match &panel.scale {
        Some(scale) if scale.len() == 2 => (Measurement::Nominal, "Krippendorff's alpha (nominal)"),
        Some(_) => (Measurement::Ordinal, "Krippendorff's alpha (ordinal)"),
        None => (Measurement::Interval, "Krippendorff's alpha (interval)"),
    };
    let units = Ratings::from_units(items.iter().map(|item| item.grades.iter().copied().flatten())).ok()?;
    let value = krippendorff_alpha(&units, measurement).ok().flatten()?;
    let point = Finding::point(value, items.len(), name)?;
    let alpha = |items: &mut dyn Iterator<Item = &GradedItem>| {
        let units = Ratings::from_units(items.map(|item| item.grades.iter().copied().flatten())).ok()?;
        krippendorff_alpha(&units, measurement).ok().flatten()
    };
    Some(match is_clustered(items.iter().map(|item| item.cluster)) {
        true => with_cluster_interval(point, items, panel.level, alpha),
        false => with_bootstrap(point, items, panel.level, alpha),
    })
}

/// κ of a whole panel on the steps of a scale. `None` for fewer than three raters, or if a grade is between two steps.
fn panel_kappa(
    items: &[GradedItem],
    panel: &Panel<'_>,
    name: &'static str,
    which: fn(&FleissKappa) -> Option<f64>,
) -> Option<Finding> {
    let scale = panel.scale.as_deref().filter(|_| panel.raters.len() >= 3)?;
    let kappa = |items: &mut dyn Iterator<Item = &GradedItem>| {
        let complete = items.filter_map(|item| item.grades.iter().copied().collect::<Option<Vec<f64>>>());
        let steps = complete.map(|grades| score_indices("panel", &grades, scale).ok()).collect::<Option<Vec<_>>>()?;
        which(&fleiss_kappa(&CountTable::from_ratings(steps, scale.len()).ok()?).ok()?)
    };
    let complete = complete_items(items);
    let point = Finding::point(kappa(&mut complete.iter())?, complete.len(), name)?;
    Some(with_bootstrap(point, &complete, panel.level, kappa))
}

/// Adds the interval of a coefficient of clustered items: by the jackknife if there are few clusters, else by the
/// bootstrap.
fn with_cluster_interval(
    point: Finding,
    items: &[GradedItem],
    level: Level,
    statistic: impl Fn(&mut dyn Iterator<Item = &GradedItem>) -> Option<f64> + Sync,
) -> Finding {
    let clusters = by_cluster(items);
    if clusters.len() >= JACKKNIFED_BELOW {
        return with_bootstrap(point, items, level, statistic);
    }
    let without = |left: usize| {
        let rest = clusters.iter().enumerate().filter(|(at, _)| *at != left);
        statistic(&mut rest.flat_map(|(_, items)| items.iter().copied()))
    };
    let left_out: Option<Vec<f64>> = (0..clusters.len()).map(without).collect();
    let interval = left_out.and_then(|left_out| jackknife_fisher(point.value(), &left_out, level));
    point.with_named_interval(interval)
}

/// The items of each cluster.
fn by_cluster(items: &[GradedItem]) -> Vec<Vec<&GradedItem>> {
    let mut clusters: BTreeMap<u32, Vec<&GradedItem>> = BTreeMap::new();
    items.iter().for_each(|item| clusters.entry(item.cluster).or_default().push(item));
    clusters.into_values().collect()
}

type Statistic<'s> = &'s (dyn Fn(&mut dyn Iterator<Item = &GradedItem>) -> Option<f64> + Sync);

/// Adds the percentile interval of resampled clusters, if their number is neither too small nor too large.
fn with_bootstrap(
    point: Finding,
    items: &[GradedItem],
    level: Level,
    statistic: impl Fn(&mut dyn Iterator<Item = &GradedItem>) -> Option<f64> + Sync,
) -> Finding {
    let drawn = if items.len() > RESAMPLED_UP_TO { None } else { resample_clusters(items, &statistic) };
    match drawn.and_then(|drawn| drawn.percentile(level)) {
        Some(interval) => point.with_named_interval(Some(interval)).with_seed(SEED),
        None => point,
    }
}

/// The distribution of a statistic over resampled clusters of items.
fn resample_clusters(items: &[GradedItem], statistic: Statistic<'_>) -> Option<Distribution> {
    let clusters = by_cluster(items);
    let resampling = Resampling { resamples: RESAMPLES, ..Resampling::new(SEED) };
    let of_drawn = |drawn: &[usize]| statistic(&mut drawn.iter().filter_map(|at| clusters.get(*at)).flatten().copied());
    if clusters.len() < BOOTSTRAP_FROM { None } else { bootstrap_indices(clusters.len(), of_drawn, &resampling) }
}

/// The grades of two raters for one item, and the item's cluster.
type SharedGrades = (f64, f64, u32);

/// Bland & Altman's limits of two raters.
fn limits_of(first: &[f64], second: &[f64]) -> Option<BlandAltman> {
    judge_error(first, second, Level::P95).ok()??.limits
}

impl JudgePair {
    /// Sets the verdict: the whole interval of the agreement lies above the threshold, or none of it does.
    pub(crate) fn decide(&mut self, threshold: f64, least: u64) {
        let Some(agreement) = &self.agreement else { return };
        let decided = agreement.interval().filter(|_| agreement.n() >= least);
        self.verdict = Some(match decided {
            Some((lo, _)) if lo > threshold => PairVerdict::Pass,
            Some((_, hi)) if hi <= threshold => PairVerdict::Fail,
            _ => PairVerdict::Undecided,
        });
    }
}

fn pair_agreement(items: &[GradedItem], (a, b): (usize, usize), panel: &Panel<'_>) -> Option<JudgePair> {
    let grade = |item: &GradedItem, rater: usize| item.grades.get(rater).copied().flatten();
    let shared: Vec<SharedGrades> =
        items.iter().filter_map(|item| Some((grade(item, a)?, grade(item, b)?, item.cluster))).collect();
    let first: Vec<f64> = shared.iter().map(|(first, ..)| *first).collect();
    let second: Vec<f64> = shared.iter().map(|(_, second, _)| *second).collect();
    let n = shared.len();
    let clustered = is_clustered(shared.iter().map(|(.., cluster)| *cluster));
    let widest = panel.range.map(|(lo, hi)| hi - lo);
    let figure = |binary: bool, range: Option<(f64, f64)>, change: &dyn Fn(f64) -> f64| {
        let mut observed = Observations { clustered, ..Observations::default() };
        shared.iter().for_each(|(first, second, cluster)| observed.push(change(first - second), 0, *cluster));
        Measure::of_mean(binary, range, panel.level).figure(&observed)
    };
    let share = |holds: fn(f64) -> f64| match n {
        1 => Finding::point(holds(first.first()? - second.first()?), n, "share"),
        _ => figure(true, None, &holds),
    };
    let bounded = |point: Finding, interval: Option<Interval>, of: fn(&[f64], &[f64]) -> Option<f64>| match clustered {
        true => with_pair_bootstrap(point, &shared, panel.level, of),
        false => point.with_named_interval(interval),
    };
    let errors = judge_error(&first, &second, panel.level).ok().flatten()?;
    let steps = panel.scale.as_deref().and_then(|scale| kappa_and_ac(&shared, scale, panel.level));
    let (kappa, ac) = steps.unwrap_or_default();
    let both = as_items(&shared);
    let found = pearson(&first, &second, panel.level).ok().flatten();
    let coefficient = |name: &'static str, of: fn(&[f64], &[f64]) -> Option<f64>| {
        Some(with_pair_bootstrap(Finding::point(of(&first, &second)?, n, name)?, &shared, panel.level, of))
    };
    Some(JudgePair {
        judges: (panel.raters.get(a)?.clone(), panel.raters.get(b)?.clone()),
        mean_abs_difference: figure(false, widest.map(|widest| (0.0, widest)), &f64::abs)?
            .clip_interval(0.0, f64::INFINITY),
        agreement: widest
            .filter(|widest| *widest > 0.0)
            .and_then(|widest| figure(false, Some((0.0, 1.0)), &|gap| 1.0 - (gap / widest).abs())),
        verdict: None,
        bias: figure(false, widest.map(|widest| (-widest, widest)), &|gap| gap)?,
        icc: intraclass_correlations(&both, panel.level).0,
        alpha: alpha(&both, panel),
        rms_difference: coefficient("root mean square", |a, b| {
            Some(judge_error(a, b, Level::P95).ok()??.root_mean_square_error)
        })?,
        exact: share(|gap| f64::from(u8::from(gap.abs() <= 0.0)))?,
        within_one: panel
            .scale
            .as_ref()
            .filter(|scale| scale.len() > 2)
            .and_then(|_| share(|gap| f64::from(u8::from(gap.abs() <= 1.0)))),
        limits: errors.limits.and_then(|limits| {
            let limit = |value| Finding::point(value, n, "Bland-Altman limit");
            Some((
                bounded(limit(limits.lower)?, Some(limits.lower_interval), |a, b| Some(limits_of(a, b)?.lower)),
                bounded(limit(limits.upper)?, Some(limits.upper_interval), |a, b| Some(limits_of(a, b)?.upper)),
            ))
        }),
        concordance: coefficient("concordance (CCC)", |a, b| judge_error(a, b, Level::P95).ok()??.concordance),
        kappa,
        ac,
        pearson: found.and_then(|it| {
            let point = Finding::point(it.correlation.value, n, "Pearson")?;
            Some(bounded(point, it.interval, |a, b| Some(pearson(a, b, Level::P95).ok()??.correlation.value)))
        }),
        spearman: coefficient("Spearman", |a, b| Some(spearman(a, b).ok()??.value)),
        kendall: coefficient("Kendall τ-b", |a, b| Some(kendall_tau_b(a, b).ok()??.tau_b)),
    })
}

/// The shared grades of two raters as items of a panel of two.
fn as_items(shared: &[SharedGrades]) -> Vec<GradedItem> {
    let item = |(first, second, cluster): &SharedGrades| GradedItem {
        cluster: *cluster,
        grades: vec![Some(*first), Some(*second)],
    };
    shared.iter().map(item).collect()
}

/// Adds the percentile interval of resampled samples to a coefficient of two raters.
fn with_pair_bootstrap(
    point: Finding,
    shared: &[SharedGrades],
    level: Level,
    coefficient: impl Fn(&[f64], &[f64]) -> Option<f64> + Sync,
) -> Finding {
    with_bootstrap(point, &as_items(shared), level, |items| {
        let grades = items.filter_map(|item| item.grades.first().copied().flatten().zip(*item.grades.get(1)?));
        let (first, second): (Vec<f64>, Vec<f64>) = grades.unzip();
        coefficient(&first, &second)
    })
}

/// Cohen's κ and Gwet's AC on the steps of a scale; `None` if a grade is between two steps.
fn kappa_and_ac(shared: &[SharedGrades], scale: &[f64], level: Level) -> Option<(Option<Finding>, Option<Finding>)> {
    let (weighting, kappa_name, ac_name) = if scale.len() == 2 {
        (Weighting::Identity, "Cohen's kappa", "Gwet's AC1")
    } else {
        (Weighting::Quadratic, "Cohen's kappa (quadratic)", "Gwet's AC2 (quadratic)")
    };
    let (first, second): (Vec<f64>, Vec<f64>) = shared.iter().map(|(first, second, _)| (*first, *second)).unzip();
    score_indices("first rater", &first, scale).ok()?;
    score_indices("second rater", &second, scale).ok()?;
    let n = shared.len();
    let clustered = is_clustered(shared.iter().map(|(.., cluster)| *cluster));
    let cohen = |first: &[f64], second: &[f64]| {
        let a = score_indices("first rater", first, scale).ok()?;
        let b = score_indices("second rater", second, scale).ok()?;
        cohen_kappa(&Contingency::from_indices(&a, &b, scale.len()).ok()?, weighting)
    };
    let kappa = cohen(&first, &second).and_then(|found| {
        let point = Finding::point(found.kappa, n, kappa_name)?;
        if n >= KAPPA_FROM && !clustered {
            return Some(point.with_named_interval(found.interval(level)));
        }
        Some(with_pair_bootstrap(point, shared, level, |first, second| Some(cohen(first, second)?.kappa)))
    });
    let gwet = |first: &[f64], second: &[f64]| {
        let a = score_indices("first rater", first, scale).ok()?;
        let b = score_indices("second rater", second, scale).ok()?;
        let counts = CountTable::from_ratings(a.iter().zip(&b).map(|(a, b)| [*a, *b]), scale.len()).ok()?;
        gwet_ac(&counts, weighting)
    };
    let ac = gwet(&first, &second).and_then(|found| {
        let point = Finding::point(found.coefficient, n, ac_name)?;
        if clustered {
            return Some(with_pair_bootstrap(point, shared, level, |first, second| {
                Some(gwet(first, second)?.coefficient)
            }));
        }
        let half = found.standard_error.zip(level.t(n as f64 - 1.0)).map(|(se, t)| se * t);
        let interval =
            half.map(|half| Interval::around(found.coefficient, half, level, Method::StudentT).clip(-1.0, 1.0));
        Some(point.with_named_interval(interval))
    });
    Some((kappa, ac))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel<'a>(raters: &'a [String], scale: Option<Vec<f64>>) -> Panel<'a> {
        Panel { raters, scale, range: Some((0.0, 10.0)), level: Level::P95 }
    }

    fn items(rows: &[[f64; 2]]) -> Vec<GradedItem> {
        let item = |(at, row): (usize, &[f64; 2])| GradedItem { cluster: at as u32, grades: row.map(Some).to_vec() };
        rows.iter().enumerate().map(item).collect()
    }

    /// CL-16: on a scale with steps κ is quadratic, and AC2 and the share within one step are computed too.
    #[test]
    fn a_scale_with_steps_has_kappa_and_ac() {
        let raters = ["a".to_owned(), "b".to_owned()];
        let rows: Vec<[f64; 2]> =
            (0..60).map(|at| [1.0 + f64::from(at % 5), 1.0 + f64::from((at + u32::from(at % 7 == 0)) % 5)]).collect();
        let found = agreement(&items(&rows), &panel(&raters, Some(vec![1.0, 2.0, 3.0, 4.0, 5.0])));
        let pair = &found.pairs[0];
        assert!(pair.kappa.as_ref().unwrap().interval().is_some());
        assert_eq!(pair.kappa.as_ref().unwrap().method(), "Cohen's kappa (quadratic), normal");
        assert!(pair.ac.as_ref().unwrap().value() > pair.kappa.as_ref().unwrap().value() - 0.2);
        assert!(pair.within_one.as_ref().unwrap().value() >= pair.exact.value());
        let resampled =
            [Some(&pair.rms_difference), pair.concordance.as_ref(), pair.spearman.as_ref(), pair.kendall.as_ref()];
        for figure in resampled.map(Option::unwrap) {
            let (lo, hi) = figure.interval().unwrap();
            assert!(lo < figure.value() && figure.value() < hi && figure.seed() == Some(1), "{figure:?}");
            assert!(figure.method().ends_with(", percentile bootstrap"), "{figure:?}");
        }
        let few = agreement(&items(&rows[..30]), &panel(&raters, Some(vec![1.0, 2.0, 3.0, 4.0, 5.0])));
        let kappa = few.pairs[0].kappa.as_ref().unwrap();
        assert_eq!(kappa.method(), "Cohen's kappa (quadratic), percentile bootstrap");
        let fewer = agreement(&items(&rows[..9]), &panel(&raters, None));
        assert_eq!(fewer.pairs[0].spearman.as_ref().unwrap().interval(), None);
        assert_eq!((found.alpha.as_ref().unwrap().seed(), found.n), (Some(1), 60));
        assert!(found.alpha.unwrap().method().starts_with("Krippendorff's alpha (ordinal), percentile"));
    }

    /// CL-16: each pair of a panel has the ICC and α that it would have alone, so an outlier is visible.
    #[test]
    fn each_pair_of_a_panel_has_its_own_coefficients() {
        let raters = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let item = |at: u32| {
            let grades = [f64::from(at % 5), f64::from(at % 5) + 0.1, f64::from(at * 7 % 11)];
            GradedItem { cluster: at, grades: grades.map(Some).to_vec() }
        };
        let three: Vec<GradedItem> = (0..20).map(item).collect();
        let found = agreement(&three, &panel(&raters, None));
        let two = three.iter().map(|item| GradedItem { cluster: item.cluster, grades: item.grades[..2].to_vec() });
        let alone = agreement(&two.collect::<Vec<_>>(), &panel(&raters[..2], None));
        assert_eq!((&found.pairs[0].icc, &found.pairs[0].alpha), (&alone.icc, &alone.alpha));
        let icc = |pair: usize| found.pairs[pair].icc.as_ref().unwrap().value();
        assert!(icc(0) > 0.9 && icc(1) < 0.5 && icc(2) < 0.5, "{:?}", [icc(0), icc(1), icc(2)]);
        let (lo, _) = agreement(&items(&[[1.0, 1.0], [2.0, 2.0], [3.0, 3.6]]), &panel(&raters[..2], None)).pairs[0]
            .mean_abs_difference
            .interval()
            .unwrap();
        assert!(lo >= 0.0, "{lo}");
    }

    /// CL-16: three or more raters have Fleiss' and Randolph's κ with intervals; two raters have neither.
    #[test]
    fn a_panel_has_fleiss_kappa() {
        let raters = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let item = |at: u32| {
            let grade = 1.0 + f64::from(at % 3);
            GradedItem {
                cluster: at,
                grades: vec![Some(grade), Some(grade), Some(if at.is_multiple_of(4) { 2.0 } else { grade })],
            }
        };
        let items: Vec<GradedItem> = (0..30).map(item).collect();
        let found = agreement(&items, &panel(&raters, Some(vec![1.0, 2.0, 3.0])));
        let fleiss = found.fleiss.unwrap();
        assert!((0.5..1.0).contains(&fleiss.value()) && fleiss.interval().is_some(), "{fleiss:?}");
        assert_eq!(fleiss.method(), "Fleiss' kappa, percentile bootstrap");
        assert!(found.randolph.unwrap().value() > 0.5);
        let incomplete = items.iter().skip(1).map(|item| {
            let grades = [&item.grades[..2], &[None]].concat();
            GradedItem { grades, ..item.clone() }
        });
        let one: Vec<GradedItem> = items.iter().take(1).cloned().chain(incomplete).collect();
        let of_one = agreement(&one, &panel(&raters, Some(vec![1.0, 2.0, 3.0])));
        let kappa = of_one.randolph.unwrap();
        assert_eq!((kappa.n(), kappa.interval()), (1, None));
        let two = agreement(&self::items(&[[1.0, 2.0]; 3]), &panel(&raters[..2], Some(vec![1.0, 2.0])));
        assert_eq!(two.fleiss, None);
    }

    /// Invariant: without variation there is no coefficient; the share of equal grades is still reported.
    #[test]
    fn without_variation_only_shares_are_reported() {
        let raters = ["a".to_owned(), "b".to_owned()];
        let found = agreement(&items(&[[1.0, 1.0]; 12]), &panel(&raters, Some(vec![0.0, 1.0])));
        let pair = &found.pairs[0];
        assert_eq!((pair.exact.value(), &pair.kappa, &found.alpha, &pair.pearson), (1.0, &None, &None, &None));
        assert!(pair.within_one.is_none() && pair.ac.is_some());
    }

    /// A grade between two steps omits the coefficients of steps and no others.
    #[test]
    fn grades_off_the_scale_have_no_kappa() {
        let raters = ["a".to_owned(), "b".to_owned()];
        let found =
            agreement(&items(&[[1.0, 1.5], [2.0, 2.0], [3.0, 2.0]]), &panel(&raters, Some(vec![1.0, 2.0, 3.0])));
        assert!(found.pairs[0].kappa.is_none() && found.pairs[0].pearson.is_some());
    }

    /// CL-08, CL-13: four samples with five outputs each have an interval, which is bounded by 1; two samples have
    /// none.
    #[test]
    fn few_samples_with_several_items_have_the_jackknifes_interval() {
        let raters = ["judge".to_owned(), "people".to_owned()];
        let of_samples = |per_sample: u32| {
            let item = |at: u32| GradedItem {
                cluster: at / per_sample,
                grades: vec![Some(f64::from(at * 7 % 10)), Some(f64::from(at * 7 % 10) + f64::from(at * 3 % 5) / 4.0)],
            };
            agreement(&(0..20).map(item).collect::<Vec<_>>(), &panel(&raters, None))
        };
        let (four, twenty, two) = (of_samples(5), of_samples(1), of_samples(10));
        for (few, many) in [(&four.icc, &twenty.icc), (&four.alpha, &twenty.alpha)] {
            let (few, many) = (few.as_ref().unwrap(), many.as_ref().unwrap());
            let (lo, hi) = few.interval().unwrap();
            assert!(
                (few.value() - many.value()).abs() < 1e-12 && lo < few.value() && few.value() < hi && hi < 1.0,
                "{few:?}"
            );
            assert!(few.method().ends_with(", cluster jackknife (Fisher z, t)"), "{few:?}");
        }
        assert!(two.icc.is_some_and(|icc| icc.interval().is_none()));
    }

    /// Invariant: items of one sample are not independent, and one item has no interval.
    #[test]
    fn items_of_one_sample_are_resampled_together() {
        let raters = ["a".to_owned(), "b".to_owned()];
        let scale = Some(vec![1.0, 2.0, 3.0, 4.0, 5.0]);
        // Four outputs of each sample with the same grades: four times the items, and no more information.
        let rows: Vec<[f64; 2]> =
            (0..60).map(|at| [1.0 + f64::from(at % 5), 1.0 + f64::from((at + u32::from(at % 3 == 0)) % 5)]).collect();
        let once = items(&rows);
        let copies = once.iter().flat_map(|item| std::iter::repeat_n(item.clone(), 4)).collect::<Vec<_>>();
        let (once, copied) =
            (agreement(&once, &panel(&raters, scale.clone())), agreement(&copies, &panel(&raters, scale.clone())));
        let figures = |found: &MetricAgreement| {
            let pair = &found.pairs[0];
            let (lower, upper) = pair.limits.clone().unwrap();
            let others = [&pair.kappa, &pair.ac, &pair.pearson, &found.icc, &found.icc_panel];
            let others = others.into_iter().map(|it| it.clone().unwrap());
            [pair.exact.clone(), pair.within_one.clone().unwrap(), lower, upper]
                .into_iter()
                .chain(others)
                .collect::<Vec<_>>()
        };
        for (one, four) in figures(&once).iter().zip(figures(&copied)) {
            let width = |found: &Finding| found.interval().map(|(lo, hi)| hi - lo).unwrap();
            assert!((0.7..2.2).contains(&(width(&four) / width(one))), "{one:?} {four:?}");
            assert!(four.method().contains("bootstrap") || four.method().contains("cluster"), "{four:?}");
        }
        let single = agreement(&items(&[[1.0, 2.0]]), &panel(&raters, scale));
        let pair = &single.pairs[0];
        assert_eq!((pair.exact.value(), pair.exact.interval(), pair.bias.interval()), (0.0, None, None));
        assert_eq!(pair.within_one.as_ref().map(|it| (it.value(), it.interval())), Some((1.0, None)));
        assert!(pair.ac.as_ref().is_none_or(|it| it.interval().is_none()), "{pair:?}");
    }
}
