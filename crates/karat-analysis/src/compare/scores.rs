//! Scores of the same samples under two systems, and the test that their kind asks for. The choice is made here and
//! nowhere else.
//!
//! | scores | test | interval | beside it |
//! |---|---|---|---|
//! | clusters of several samples | paired t, cluster-robust (CR1, t_{G−1}) | the same | sign-flip of clusters |
//! | pass/fail | McNemar mid-p | mid-p, test-based | exact p; paired t |
//! | fewer than 30 samples | sign-flip, exact | the same, inverted | paired t; BCa bootstrap from 10 on |
//! | 30 and more | paired t | the same | sign-flip, sampled |
//! | of an ordinal scale | as above | as above | also Wilcoxon (Pratt) |
//!
//! Differences that do not vary have no t: the sign-flip p says what their number is worth. Where no sample differs at
//! all there is nothing to test: p = 1, and the interval is the point 0.

use karat_stats::bootstrap::{Resampling, bootstrap_mean, jackknife};
use karat_stats::compare::{
    PairedOutcomes, WilcoxonZeros, paired_t, sign_flip, sign_flip_exact, sign_flip_interval, wilcoxon,
};
use karat_stats::describe::{cluster_sums, clustered_mean, is_constant, mean, standard_deviation};
use karat_stats::interval::{Interval, Level, Method};
use karat_stats::seed::Seed;
use karat_stats::special::StudentT;

/// From so many samples on the mean difference is taken to be normal.
const LARGE_ENOUGH: usize = 30;

/// From so many differences on a bootstrap is worth showing.
const BOOTSTRAP_FROM: usize = 10;

/// Above so many differences nothing is resampled.
const RESAMPLED_UP_TO: usize = 10_000;

/// Sign patterns sampled where they are too many to list.
const PATTERNS: u32 = 10_000;

/// What kind of numbers a metric gives.
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
    /// None: no sample differs, which is p = 1 by definition.
    Identical,
}

impl Test {
    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::McNemar => "McNemar mid-p",
            Self::PairedT => "paired t",
            Self::ClusterT => "paired t, cluster-robust",
            Self::SignFlip => "sign-flip, exact",
            Self::Identical => "no test: no sample differs",
        }
    }
}

/// Another test of the same differences, for the reader: it decides nothing.
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
    /// Seed, where it is random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl SecondTest {
    fn of_p(test: &'static str, p: Option<f64>) -> Self {
        Self { test, p, ci: None, seed: None }
    }
}

/// Scores of the same samples under two systems, trials averaged.
#[derive(Debug, Clone, Default)]
pub struct PairedScores {
    baseline: Vec<f64>,
    candidate: Vec<f64>,
    clusters: Vec<u32>,
}

impl PairedScores {
    /// Adds a sample with its cluster; a sample that has none is its own. The numbers are finite.
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

    /// Whether a cluster holds several samples, and there is more than one cluster.
    pub fn is_clustered(&self) -> bool {
        let distinct = self.n_clusters();
        distinct > 1 && distinct < self.clusters.len()
    }

    /// How many clusters there are.
    pub fn n_clusters(&self) -> usize {
        self.clusters.iter().collect::<std::collections::BTreeSet<_>>().len()
    }

    /// Tests whether the mean of candidate − baseline is 0.
    pub fn test(&self, kind: Kind) -> PairedTest {
        let differences: Vec<f64> = self.candidate.iter().zip(&self.baseline).map(|(c, b)| c - b).collect();
        let clusters = self.is_clustered().then(|| self.clusters.clone());
        let passed = |value: &f64| *value >= 1.0;
        let outcomes = self.baseline.iter().map(passed).zip(self.candidate.iter().map(passed));
        let test = self.choose(kind, &differences);
        PairedTest { test, kind, outcomes: PairedOutcomes::count(outcomes), differences, clusters }
    }

    fn choose(&self, kind: Kind, differences: &[f64]) -> Test {
        if !differences.is_empty() && differences.iter().all(|d| d.abs() <= 0.0) {
            return Test::Identical;
        }
        let pass_fail = |values: &[f64]| values.iter().all(|value| *value <= 0.0 || *value >= 1.0);
        if self.is_clustered() {
            let spread = clustered_mean(differences, &self.clusters, Level::P95).ok().and_then(|it| it.standard_error);
            let size = differences.iter().fold(0.0_f64, |size, d| size.max(d.abs()));
            let varies = spread.is_some_and(|se| se > 1e-12 * size);
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

/// A test under way: its p-value, and the interval of the same family at any level, so that the two never disagree.
#[derive(Debug, Clone)]
pub struct PairedTest {
    test: Test,
    kind: Kind,
    outcomes: PairedOutcomes,
    differences: Vec<f64>,
    clusters: Option<Vec<u32>>,
}

impl PairedTest {
    /// Which test it is.
    pub fn test(&self) -> Test {
        self.test
    }

    /// Samples tested.
    pub fn n(&self) -> usize {
        self.differences.len()
    }

    /// The mean difference; `None` for no samples.
    pub fn mean(&self) -> Option<f64> {
        mean(&self.differences)
    }

    /// Whether the interval is only a point: no sample differs, or all do by the same amount (of clusters: by the same
    /// mean). One sample has no interval at all.
    pub fn is_degenerate(&self) -> bool {
        match self.test {
            Test::McNemar | Test::PairedT | Test::ClusterT => false,
            Test::Identical => self.n() > 1,
            Test::SignFlip => self.n() > 1 && (is_constant(&self.differences) || self.clusters.is_some()),
        }
    }

    /// The two-sided p-value; `None` for no samples.
    pub fn p(&self) -> Option<f64> {
        match self.test {
            _ if self.differences.is_empty() => None,
            Test::McNemar => Some(self.outcomes.mcnemar().p_mid),
            Test::PairedT => paired_t(&self.differences, Level::P95).p_two_sided,
            Test::ClusterT => self.clustered(Level::P95).and_then(|robust| {
                let t = robust.mean? / robust.standard_error?;
                Some(StudentT::new(robust.df?)?.two_sided(t))
            }),
            Test::SignFlip => sign_flip_p(&self.units()),
            Test::Identical => Some(1.0),
        }
    }

    /// The interval of the mean difference; it leaves out 0 exactly where p is at most 1 − `level`. `None` where so
    /// few samples can never decide at this level.
    pub fn interval(&self, level: Level) -> Option<Interval> {
        match self.test {
            _ if self.differences.is_empty() => None,
            Test::McNemar => self.outcomes.interval(level),
            Test::PairedT => paired_t(&self.differences, level).interval,
            Test::ClusterT => self.clustered(level)?.interval,
            Test::Identical => self.collapsed(level),
            Test::SignFlip if self.is_degenerate() => self.collapsed(level).filter(|_| self.p() <= Some(level.alpha())),
            Test::SignFlip => sign_flip_interval(&self.differences, level),
        }
    }

    /// The standard error of the mean difference, cluster-robust where there are clusters.
    pub fn standard_error(&self) -> Option<f64> {
        match &self.clusters {
            Some(_) => self.clustered(Level::P95)?.standard_error,
            None => paired_t(&self.differences, Level::P95).standard_error,
        }
    }

    /// The standard deviation of the differences as independent samples would have to have it for the same standard
    /// error: s_d, times the root of the design effect where there are clusters.
    pub fn planning_deviation(&self) -> Option<f64> {
        match &self.clusters {
            Some(_) => Some(self.standard_error()? * (self.n() as f64).sqrt()),
            None => standard_deviation(&self.differences),
        }
    }

    /// The fewest samples with which the test can be below 1 − `level` at all.
    pub fn fewest(&self, level: Level) -> f64 {
        match self.test {
            Test::SignFlip => (2.0 / level.alpha()).log2().ceil(),
            Test::McNemar | Test::PairedT | Test::ClusterT | Test::Identical => 2.0,
        }
    }

    /// Tests beside this one, for the reader.
    pub fn beside(&self, level: Level, seed: Seed) -> Vec<SecondTest> {
        let mut others = Vec::new();
        if self.differences.len() < 2 || self.is_degenerate() {
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
            Test::PairedT | Test::ClusterT => others.extend(self.flipped(seed)),
            Test::Identical => {}
        }
        if self.kind == Kind::Ordinal && self.clusters.is_none() {
            let ranks = wilcoxon(&self.differences, WilcoxonZeros::Pratt);
            let p = ranks.and_then(|it| it.p_exact_two_sided.or(it.p_normal));
            others.push(SecondTest::of_p("Wilcoxon signed-rank (Pratt)", p));
        }
        others
    }

    /// The mean as an interval without a width.
    fn collapsed(&self, level: Level) -> Option<Interval> {
        let point = Interval::around(self.mean()?, 0.0, level, Method::Degenerate);
        self.is_degenerate().then_some(point)
    }

    fn clustered(&self, level: Level) -> Option<karat_stats::describe::ClusteredMean> {
        clustered_mean(&self.differences, self.clusters.as_deref()?, level).ok()
    }

    /// What a sign belongs to: the samples, or the sums of their clusters.
    fn units(&self) -> Vec<f64> {
        let sums = self.clusters.as_deref().and_then(|clusters| cluster_sums(&self.differences, clusters).ok());
        sums.unwrap_or_else(|| self.differences.clone())
    }

    fn plain_t(&self, level: Level) -> SecondTest {
        let found = paired_t(&self.differences, level);
        SecondTest {
            test: "paired t",
            p: found.p_two_sided,
            ci: found.interval.map(|interval| (interval.lo, interval.hi)),
            seed: None,
        }
    }

    fn flipped(&self, seed: Seed) -> Option<SecondTest> {
        let units = self.units();
        let found = sign_flip(&units, PATTERNS, seed).filter(|_| units.len() <= RESAMPLED_UP_TO)?;
        let test = if self.clusters.is_some() { "sign-flip of clusters" } else { "sign-flip" };
        Some(SecondTest { test, p: Some(found.p_two_sided), ci: None, seed: (!found.exact).then_some(seed.0) })
    }

    fn bootstrap(&self, level: Level, seed: Seed) -> Option<SecondTest> {
        let worthwhile = (BOOTSTRAP_FROM..=RESAMPLED_UP_TO).contains(&self.n()) && self.clusters.is_none();
        let drawn = bootstrap_mean(&self.differences, &Resampling::new(seed)).filter(|_| worthwhile)?;
        let interval = drawn.bca(&jackknife(&self.differences, mean)?, level).interval?;
        Some(SecondTest { test: "BCa bootstrap", p: None, ci: Some((interval.lo, interval.hi)), seed: Some(seed.0) })
    }
}

/// The exact two-sided p-value. Where patterns are too many to list, the differences have one sign, and only the
/// pattern as it is and its mirror image reach the sum.
fn sign_flip_p(units: &[f64]) -> Option<f64> {
    if units.iter().all(|unit| unit.abs() <= 0.0) {
        return Some(1.0);
    }
    let one_sign = 2.0 * 0.5_f64.powi(i32::try_from(units.len()).unwrap_or(i32::MAX));
    sign_flip_exact(units).map(|found| found.p_two_sided).or(Some(one_sign))
}
