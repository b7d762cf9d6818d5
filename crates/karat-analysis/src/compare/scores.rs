//! Paired scores of two systems and the test for their kind. This is the only place that chooses the test.
//!
//! | scores | test | interval | further tests |
//! |---|---|---|---|
//! | clusters of several samples | paired t, cluster-robust (CR1, t_{G−1}) | the same | sign-flip of clusters |
//! | pass/fail | McNemar mid-p | score (Tango), consistent with the mid-p at 0 | exact p; paired t |
//! | fewer than 30 samples | sign-flip, exact | the same, inverted | paired t; BCa bootstrap from 10 on |
//! | 30 and more | paired t | the same | sign-flip, sampled |
//! | on an ordinal scale | as above | as above | also Wilcoxon (Pratt) |
//! | a suite's `aggregate` other than the mean | bootstrap of its change, clusters drawn whole | percentiles, as the p-value rejects | the difference of means |
//! | one sample, or one cluster of all | none | none | |
//!
//! Constant differences have no t statistic; the sign-flip p depends on their number. If no sample differs there is
//! nothing to test: p = 1, and the interval is the point 0.

use karat_stats::bootstrap::{Resampling, bootstrap_mean, jackknife_mean};
use karat_stats::compare::{
    PairedOutcomes, WilcoxonZeros, differences, paired_t, sign_flip, sign_flip_exact, sign_flip_interval, wilcoxon,
};
use karat_stats::describe::{cluster_sums, clustered_mean, is_constant, mean, standard_deviation};
use karat_stats::interval::{Interval, Level, Method};
use karat_stats::numeric::seed::Seed;
use karat_stats::numeric::special::StudentT;
use karat_stats::power::PairedDesign;

use crate::figures::finding::Finding;
use crate::figures::resampled::Resampled;
use crate::score::observations::{Aggregate, BOOTSTRAP_FROM, RESAMPLED_UP_TO};

/// The least number of samples for which the mean difference is assumed normal.
const LARGE_ENOUGH: usize = 30;

/// Number of sampled sign patterns if they are too many to enumerate.
const PATTERNS: u32 = 10_000;

/// The kind of a metric's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// 0 or 1.
    Binary,
    /// The steps of a declared scale.
    Ordinal,
    /// Any number.
    Score,
}

/// A test of the mean difference of paired scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// McNemar's test with the mid-p value.
    McNemar,
    /// The paired t test.
    PairedT,
    /// The paired t test with the cluster-robust standard error CR1 and G − 1 degrees of freedom.
    ClusterT,
    /// The exact sign-flip permutation test.
    SignFlip,
    /// The bootstrap of the change of an aggregate other than the mean.
    Bootstrap,
    /// No test: no sample differs, so p = 1 by definition.
    Identical,
    /// No test is defined.
    None,
}

impl Test {
    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::McNemar => "McNemar mid-p",
            Self::PairedT => "paired t",
            Self::ClusterT => "paired t, cluster-robust",
            Self::SignFlip => "sign-flip, exact",
            Self::Bootstrap => "paired bootstrap",
            Self::Identical => "no test: no sample differs",
            Self::None => "no test",
        }
    }

    /// The fewest samples (or clusters) with which a sign test can reach 1 − `level`; 2 for other tests.
    pub(crate) fn fewest(self, level: Level) -> f64 {
        let halvings = |share: f64| (share / level.alpha()).log2().ceil().max(2.0);
        match self {
            Self::SignFlip => halvings(2.0),
            Self::McNemar => halvings(1.0),
            Self::PairedT | Self::ClusterT | Self::Bootstrap | Self::Identical | Self::None => 2.0,
        }
    }
}

/// A further test of the same differences, for information only.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct SecondTest {
    /// Its name.
    pub test: &'static str,
    /// Its two-sided p-value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// Its interval of the mean difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci: Option<(f64, f64)>,
    /// Seed, if it is random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl SecondTest {
    fn of_p(test: &'static str, p: Option<f64>) -> Self {
        Self { test, p, ci: None, seed: None }
    }
}

/// Paired scores of two systems on the same samples, trials reduced.
#[derive(Debug, Clone, Default)]
pub struct PairedScores {
    baseline: Vec<f64>,
    candidate: Vec<f64>,
    clusters: Vec<u32>,
}

impl PairedScores {
    /// Adds a sample with its cluster; a sample without one is its own cluster. All numbers are finite.
    pub fn push(&mut self, baseline: f64, candidate: f64, cluster: u32) {
        self.baseline.push(baseline);
        self.candidate.push(candidate);
        self.clusters.push(cluster);
    }

    /// Scores of the baseline.
    pub fn baseline(&self) -> &[f64] {
        &self.baseline
    }

    /// Scores of the candidate.
    pub fn candidate(&self) -> &[f64] {
        &self.candidate
    }

    /// Cluster of each sample.
    pub fn clusters(&self) -> &[u32] {
        &self.clusters
    }

    /// Returns true if a cluster holds several samples.
    pub fn is_clustered(&self) -> bool {
        self.n_clusters() < self.clusters.len()
    }

    /// Number of clusters.
    pub fn n_clusters(&self) -> usize {
        self.clusters.iter().collect::<std::collections::BTreeSet<_>>().len()
    }

    /// Tests whether the mean of candidate − baseline is 0.
    pub fn test(&self, kind: Kind) -> PairedTest {
        let differences = differences(&self.candidate, &self.baseline);
        let clusters = self.is_clustered().then(|| self.clusters.clone());
        let passed = |value: &f64| *value >= 1.0;
        let outcomes = self.baseline.iter().map(passed).zip(self.candidate.iter().map(passed));
        let test = self.choose_test(kind, &differences);
        let (aggregate, resampled) = (Aggregate::Mean, None);
        PairedTest {
            test,
            kind,
            outcomes: PairedOutcomes::count(outcomes),
            differences,
            clusters,
            aggregate,
            resampled,
        }
    }

    fn choose_test(&self, kind: Kind, differences: &[f64]) -> Test {
        if self.n_clusters() < 2 {
            return Test::None;
        }
        if differences.iter().all(|d| d.abs() <= 0.0) {
            return Test::Identical;
        }
        let pass_fail = |values: &[f64]| values.iter().all(|value| *value <= 0.0 || *value >= 1.0);
        if self.is_clustered() {
            let varies = clustered_mean(differences, &self.clusters, Level::P95).is_ok_and(|found| !found.degenerate);
            return if varies { Test::ClusterT } else { Test::SignFlip };
        }
        if kind == Kind::Binary && pass_fail(&self.baseline) && pass_fail(&self.candidate) {
            Test::McNemar
        } else if differences.len() < LARGE_ENOUGH || is_constant(differences) {
            Test::SignFlip
        } else {
            Test::PairedT
        }
    }
}

/// A chosen test: its p-value, and the interval of the same family at any level, so that the two never disagree.
#[derive(Debug, Clone)]
pub struct PairedTest {
    test: Test,
    kind: Kind,
    outcomes: PairedOutcomes,
    differences: Vec<f64>,
    clusters: Option<Vec<u32>>,
    aggregate: Aggregate,
    /// The change of an aggregate other than the mean.
    resampled: Option<Resampled>,
}

impl PairedTest {
    /// Tests the change of an aggregate instead of the mean. If no sample differs, no aggregate does, except figures of
    /// labels.
    #[must_use]
    pub(super) fn for_aggregate(mut self, aggregate: Aggregate, change: Option<Resampled>) -> Self {
        self.test = match (self.test, &change) {
            (Test::None, _) | (_, None) => Test::None,
            (Test::Identical, Some(change)) if change.value.abs() <= 0.0 => Test::Identical,
            (_, Some(change)) if change.drawn.is_some() => Test::Bootstrap,
            _ => Test::None,
        };
        Self { aggregate, resampled: change, ..self }
    }

    /// The test.
    pub fn test(&self) -> Test {
        self.test
    }

    /// Number of samples.
    pub fn n(&self) -> usize {
        self.differences.len()
    }

    /// The difference of the figures (means or other aggregates). `None` without samples.
    pub fn difference(&self) -> Option<f64> {
        match &self.resampled {
            Some(change) => Some(change.value),
            None => mean(&self.differences),
        }
    }

    /// Returns true if its interval comes from random resamples.
    pub fn is_resampled(&self) -> bool {
        self.test == Test::Bootstrap
    }

    /// Number of independent units: clusters, or else samples.
    pub fn units(&self) -> usize {
        let distinct = |clusters: &Vec<u32>| clusters.iter().collect::<std::collections::BTreeSet<_>>().len();
        self.clusters.as_ref().map_or(self.n(), distinct)
    }

    /// Returns true if the interval is a point: no sample differs, or all differ by the same amount (clusters by the
    /// same mean, an aggregate in every resample).
    pub fn is_degenerate(&self) -> bool {
        match self.test {
            Test::McNemar | Test::PairedT | Test::ClusterT | Test::None => false,
            Test::Identical => true,
            Test::SignFlip => is_constant(&self.differences) || self.clusters.is_some(),
            Test::Bootstrap => self.resamples().is_some_and(|drawn| is_constant(drawn.replicates())),
        }
    }

    /// The two-sided p-value; `None` without a test.
    pub fn p(&self) -> Option<f64> {
        match self.test {
            Test::None => None,
            Test::McNemar => Some(self.outcomes.mcnemar().p_mid),
            Test::PairedT => paired_t(&self.differences, Level::P95).p_two_sided,
            Test::ClusterT => self.cluster_robust(Level::P95).and_then(|robust| {
                let t = robust.mean? / robust.standard_error?;
                Some(StudentT::new(robust.df?)?.two_sided(t))
            }),
            Test::SignFlip => sign_flip_p(&self.sign_units()),
            Test::Bootstrap => self.resamples().map(|drawn| drawn.p_two_sided(0.0)),
            Test::Identical => Some(1.0),
        }
    }

    /// The interval of the difference; it excludes 0 exactly if p is at most 1 − `level`. `None` if so few samples can
    /// never decide at this level.
    pub fn interval(&self, level: Level) -> Option<Interval> {
        match self.test {
            Test::None => None,
            Test::McNemar => self.outcomes.interval(level),
            Test::PairedT => paired_t(&self.differences, level).interval,
            Test::ClusterT => self.cluster_robust(level)?.interval,
            Test::Bootstrap => self.resamples()?.percentile_interval(level),
            Test::Identical => self.point_interval(level),
            Test::SignFlip if self.is_degenerate() => {
                self.point_interval(level).filter(|_| self.p() <= Some(level.alpha()))
            }
            Test::SignFlip => sign_flip_interval(&self.differences, level),
        }
    }

    /// The standard error of the difference, cluster-robust if there are clusters.
    pub fn standard_error(&self) -> Option<f64> {
        match (&self.resampled, &self.clusters) {
            (Some(change), _) => change.drawn.as_ref()?.standard_error(),
            (None, Some(_)) => self.cluster_robust(Level::P95)?.standard_error,
            (None, None) => paired_t(&self.differences, Level::P95).standard_error,
        }
    }

    /// The difference with its interval at a level, and the seed if it comes from resamples.
    pub(crate) fn finding(&self, level: Level, seed: Seed) -> Option<Finding> {
        let point = Finding::point(self.difference()?, self.n(), self.test.as_str())?;
        let whole = point.with_interval(self.interval(level), self.standard_error());
        let whole = if self.is_resampled() { whole.with_seed(seed) } else { whole };
        Some(whole.mark_degenerate(self.is_degenerate()))
    }

    /// The inputs for planning further samples: the deviation SE·√n and the cluster size.
    pub fn design(&self) -> Option<PairedDesign> {
        let n = self.n() as f64;
        let deviation = match (&self.resampled, &self.clusters) {
            (None, None) => standard_deviation(&self.differences)?,
            _ => self.standard_error()? * n.sqrt(),
        };
        Some(PairedDesign { deviation, cluster_size: n / self.units() as f64 })
    }

    /// The fewest samples (or clusters) with which the test can reach 1 − `level`.
    pub fn fewest(&self, level: Level) -> f64 {
        match self.test {
            Test::Bootstrap => self.aggregate.min_bootstrap_units().unwrap_or(BOOTSTRAP_FROM) as f64,
            test => test.fewest(level),
        }
    }

    /// The reason why these samples cannot decide at this level, whatever their values; `None` if they can.
    pub fn impossible(&self, level: Level) -> Option<String> {
        let units = if self.clusters.is_some() { "clusters" } else { "samples" };
        match self.test {
            Test::None if self.n() < 2 => Some("a single sample cannot be tested".to_owned()),
            Test::None if self.units() < 2 => {
                Some("all samples belong to one cluster, so the variation between clusters is unknown".to_owned())
            }
            Test::None => Some(match self.aggregate.min_bootstrap_units() {
                Some(fewest) => {
                    format!("the {} needs at least {fewest} {units} for a test", self.aggregate.name())
                }
                None => format!("there is no test for the {} of samples", self.aggregate.name()),
            }),
            _ if (self.units() as f64) < self.fewest(level) => {
                let (there, fewest) = (self.units(), self.fewest(level));
                Some(format!("{there} {units} are too few to decide at this level; at least {fewest} are needed"))
            }
            _ => None,
        }
    }

    /// The reason why the resamples cannot decide at this level, whatever the number of samples: p is at least 2/(B +
    /// 1).
    pub fn too_few_resamples(&self, level: Level) -> Option<String> {
        let there = self.resamples().filter(|_| self.test == Test::Bootstrap)?.replicates().len();
        let needed = (2.0 / level.alpha() - 1e-9).ceil() - 1.0;
        ((there as f64) < needed).then(|| {
            format!("{there} resamples are too few to decide at this level; `statistics.resamples` must be at least {needed}")
        })
    }

    /// Further tests, for information.
    pub fn second_tests(&self, level: Level, seed: Seed) -> Vec<SecondTest> {
        let mut others = Vec::new();
        if self.is_degenerate() {
            return others;
        }
        match self.test {
            Test::McNemar => {
                others.push(SecondTest::of_p("McNemar exact", Some(self.outcomes.mcnemar().p_exact)));
                others.push(self.plain_t(level));
            }
            Test::SignFlip => {
                others.push(self.plain_t(level));
                others.extend(self.bootstrap(level, seed));
            }
            Test::PairedT | Test::ClusterT => others.extend(self.sign_flip_test(seed)),
            Test::Bootstrap => others.push(self.means_test(level)),
            Test::Identical | Test::None => {}
        }
        if self.kind == Kind::Ordinal && self.clusters.is_none() && self.aggregate == Aggregate::Mean && self.n() > 1 {
            let ranks = wilcoxon(&self.differences, WilcoxonZeros::Pratt);
            let p = ranks.and_then(|it| it.p_exact_two_sided.or(it.p_normal));
            others.push(SecondTest::of_p("Wilcoxon signed-rank (Pratt)", p));
        }
        others
    }

    fn resamples(&self) -> Option<&karat_stats::bootstrap::Distribution> {
        self.resampled.as_ref()?.drawn.as_ref()
    }

    /// The difference as an interval of width 0.
    fn point_interval(&self, level: Level) -> Option<Interval> {
        let point = Interval::around(self.difference()?, 0.0, level, Method::Degenerate);
        self.is_degenerate().then_some(point)
    }

    fn cluster_robust(&self, level: Level) -> Option<karat_stats::describe::ClusteredMean> {
        clustered_mean(&self.differences, self.clusters.as_deref()?, level).ok()
    }

    /// The units whose signs are flipped: the samples, or the sums of their clusters.
    fn sign_units(&self) -> Vec<f64> {
        let sums = self.clusters.as_deref().and_then(|clusters| cluster_sums(&self.differences, clusters).ok());
        sums.unwrap_or_else(|| self.differences.clone())
    }

    fn plain_t(&self, level: Level) -> SecondTest {
        let test = paired_t(&self.differences, level);
        SecondTest {
            test: "paired t",
            p: test.p_two_sided,
            ci: test.interval.map(|interval| (interval.lo, interval.hi)),
            seed: None,
        }
    }

    /// The t test of the mean difference, if an aggregate decides.
    fn means_test(&self, level: Level) -> SecondTest {
        let of_means = Self { test: Test::ClusterT, resampled: None, ..self.clone() };
        let plain = self.plain_t(level);
        let (p, interval) = match self.clusters {
            Some(_) => (of_means.p(), of_means.interval(level).map(|it| (it.lo, it.hi))),
            None => (plain.p, plain.ci),
        };
        SecondTest { test: "difference of means, t", p, ci: interval, seed: None }
    }

    fn sign_flip_test(&self, seed: Seed) -> Option<SecondTest> {
        let units = self.sign_units();
        let result = sign_flip(&units, PATTERNS, seed).filter(|_| units.len() <= RESAMPLED_UP_TO)?;
        let test = if self.clusters.is_some() { "sign-flip of clusters" } else { "sign-flip" };
        Some(SecondTest { test, p: Some(result.p_two_sided), ci: None, seed: (!result.exact).then_some(seed.0) })
    }

    fn bootstrap(&self, level: Level, seed: Seed) -> Option<SecondTest> {
        if !(BOOTSTRAP_FROM..=RESAMPLED_UP_TO).contains(&self.n()) || self.clusters.is_some() {
            return None;
        }
        let drawn = bootstrap_mean(&self.differences, &Resampling::new(seed))?;
        let interval = drawn.bca(&jackknife_mean(&self.differences)?, level).interval?;
        Some(SecondTest { test: "BCa bootstrap", p: None, ci: Some((interval.lo, interval.hi)), seed: Some(seed.0) })
    }
}

/// The exact two-sided p-value. If there are too many patterns to enumerate, the differences have one sign, and only
/// the observed pattern and its mirror image reach the sum.
fn sign_flip_p(units: &[f64]) -> Option<f64> {
    if units.iter().all(|unit| unit.abs() <= 0.0) {
        return Some(1.0);
    }
    let same = |sign: f64| units.iter().all(|unit| unit * sign > 0.0);
    let one_sign = 2.0 * 0.5_f64.powi(i32::try_from(units.len()).unwrap_or(i32::MAX));
    let listed = sign_flip_exact(units).map(|found| found.p_two_sided);
    listed.or_else(|| (same(1.0) || same(-1.0)).then_some(one_sign))
}
