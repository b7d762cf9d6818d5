//! The test of a paired change, its p and its interval. This is the only place that chooses them.
//!
//! The test of a mean change is [`karat_stats::inference::Change`], whose table says which; another aggregate is tested by
//! the bootstrap of its change. Of several pairs of systems, each sample has one difference:
//! dᵢ = (n/S)·Σ_s d_is/n_s over the S pairs that have it, where n_s of the n samples have pair s. Their mean is that of the
//! pairs' mean changes with equal weight, and n counts samples.
//!
//! | further tests, for information | beside |
//! |---|---|
//! | exact p, paired t | McNemar mid-p |
//! | paired t; BCa bootstrap from 10 samples on | sign-flip |
//! | sign-flip, sampled | paired t, cluster t |
//! | the difference of means | the bootstrap of another aggregate |
//! | Wilcoxon (Pratt) | any test of an ordinal scale |

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_stats::bootstrap::{Distribution, Resampling, bootstrap_mean, jackknife_mean};
use karat_stats::compare::{WilcoxonZeros, paired_t, sign_flip, wilcoxon};
use karat_stats::inference::{Change, ChangeTest, Clusters, MeanSide, Outcome, RateSide, commonest, newcombe, welch};
use karat_stats::interval::{Interval, Level};
use karat_stats::numeric::seed::Seed;
use karat_stats::power::PairedDesign;

use crate::infer::figure::no_range_reason;
use crate::infer::finding::Finding;
use crate::infer::measure::{ALIKE, few_clusters_reason};
use crate::infer::resampled::Resampled;
use crate::score::observations::{Aggregate, BOOTSTRAP_FROM, Observations, RESAMPLED_UP_TO, SampleDesign};

/// Number of sampled sign patterns of a further test.
const PATTERNS: u32 = 10_000;

/// The seed of sampled sign patterns, the same on every screen.
const SEED: Seed = Seed(1);

/// The assumption of sign flips, as methods say it.
const SYMMETRY: &str = "differences as likely as their opposites";

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

impl Kind {
    /// That of a metric that is pass/fail or is not.
    pub(crate) fn of(binary: bool) -> Self {
        if binary { Self::Binary } else { Self::Score }
    }
}

/// A test of a paired change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// The test of a mean change.
    Mean(ChangeTest),
    /// The bootstrap of the change of an aggregate other than the mean.
    Bootstrap,
}

impl Test {
    /// No test is defined.
    pub const NONE: Self = Self::Mean(ChangeTest::None);
    /// No test: no sample differs, so p = 1 by definition.
    pub const IDENTICAL: Self = Self::Mean(ChangeTest::NoSampleDiffers);

    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mean(test) => test.as_str(),
            Self::Bootstrap => "paired bootstrap",
        }
    }

    /// The fewest samples (or clusters) with which a test can reach 1 − `level`: those of sign tests; 2 for others.
    pub(crate) fn fewest(self, level: Level) -> f64 {
        let halvings = |share: f64| ((share / level.alpha()).log2() - 1e-9).ceil().max(2.0);
        match self {
            Self::Mean(ChangeTest::SignFlip | ChangeTest::ClusterSignFlip) => halvings(2.0),
            Self::Mean(ChangeTest::McNemar) => halvings(1.0),
            _ => 2.0,
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

/// Paired scores of two systems, or of several pairs of systems, on the same samples; trials are reduced.
#[derive(Debug, Clone, Default)]
pub struct PairedScores {
    scores: Vec<PairedScore>,
    /// The largest possible difference; `None` for a metric without a range.
    largest: Option<f64>,
    /// The draw of the samples, where some stand for more rows than others.
    design: Option<Arc<SampleDesign>>,
}

/// The scores of a pair of systems on a sample.
#[derive(Debug, Clone, Copy)]
struct PairedScore {
    sample: u32,
    pair: u32,
    cluster: u32,
    before: f64,
    after: f64,
}

/// One difference a sample.
struct Reduced {
    before: Vec<f64>,
    after: Vec<f64>,
    clusters: Vec<u32>,
    samples: Vec<u32>,
}

impl PairedScores {
    /// Starts without samples, for a metric whose scores differ by at most `largest`.
    pub(crate) fn within(largest: Option<f64>) -> Self {
        Self { scores: Vec::new(), largest, design: None }
    }

    /// The same scores of a metric whose scores differ by at most `largest`.
    pub(crate) fn of_range(self, largest: Option<f64>) -> Self {
        Self { largest, ..self }
    }

    /// The same scores of samples that were drawn; those of unequal draws are weighted, as uᵢ = n·ωᵢ·dᵢ.
    pub(crate) fn with_design(self, design: Option<Arc<SampleDesign>>) -> Self {
        Self { design: design.filter(|design| design.is_weighted), ..self }
    }

    /// Adds a sample of a single pair of systems, with its cluster; a sample without one is its own cluster. All numbers
    /// are finite.
    pub fn push(&mut self, baseline: f64, candidate: f64, cluster: u32) {
        self.push_pair([baseline, candidate], (self.scores.len(), 0), cluster);
    }

    /// Adds the scores of one of several pairs of systems on a sample.
    pub(crate) fn push_pair(&mut self, [before, after]: [f64; 2], (sample, pair): (usize, usize), cluster: u32) {
        self.scores.push(PairedScore { sample: sample as u32, pair: pair as u32, cluster, before, after });
    }

    /// Number of scores of pairs of systems.
    pub(crate) fn len(&self) -> usize {
        self.scores.len()
    }

    /// Returns true if a cluster holds several samples.
    pub(crate) fn is_clustered(&self) -> bool {
        let samples: BTreeMap<u32, u32> = self.scores.iter().map(|it| (it.sample, it.cluster)).collect();
        samples.values().collect::<std::collections::BTreeSet<_>>().len() < samples.len()
    }

    /// Tests whether the mean of candidate − baseline is 0.
    pub fn test(&self, kind: Kind) -> PairedTest {
        let Reduced { mut before, mut after, clusters, samples } = self.reduce();
        let one_pair = self.scores.windows(2).all(|it| it[0].pair == it[1].pair);
        let weights = self.design.as_ref().map(|design| design.weights(&samples));
        let outcome =
            if kind == Kind::Binary && one_pair && weights.is_none() { Outcome::PassFail } else { Outcome::Score };
        let largest = if kind == Kind::Binary { Some(1.0) } else { self.largest };
        let most = weights.iter().flatten().copied().fold(f64::NAN, f64::max);
        let largest = largest.map(|largest| if weights.is_some() { largest * most } else { largest });
        for (at, weight) in weights.iter().flatten().enumerate() {
            before.iter_mut().chain(&mut after).skip(at).step_by(samples.len()).take(2).for_each(|it| *it *= weight);
        }
        let clusters = Some(Clusters::new(&clusters));
        let change = Change::new(&before, &after, outcome, largest, clusters).unwrap_or_default();
        let change = change.with_draws(SEED, Level::P95);
        PairedTest { change, kind, aggregate: Aggregate::Mean, resampled: None, seed: SEED }
    }

    /// Fills the observations of both sides with one value a sample.
    pub(super) fn reduce_into(&self, baseline: &mut Observations, candidate: &mut Observations) {
        let Reduced { before, after, clusters, .. } = self.reduce();
        for (side, values) in [(baseline, before), (candidate, after)] {
            (side.values, side.strata, side.clusters) = (Vec::new(), Vec::new(), Vec::new());
            values.into_iter().zip(&clusters).for_each(|(value, cluster)| side.push(value, 0, *cluster));
        }
    }

    fn reduce(&self) -> Reduced {
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        self.scores.iter().for_each(|it| *counts.entry(it.pair).or_default() += 1);
        let mut samples: BTreeMap<u32, (f64, f64, u32)> = BTreeMap::new();
        for it in &self.scores {
            samples.entry(it.sample).or_insert((0.0, 0.0, it.cluster));
        }
        let (n, pairs) = (samples.len() as f64, counts.len() as f64);
        for it in &self.scores {
            let weight = n / (pairs * counts.get(&it.pair).copied().unwrap_or(1) as f64);
            if let Some(sums) = samples.get_mut(&it.sample) {
                sums.0 += weight * it.before;
                sums.1 += weight * it.after;
            }
        }
        let mut reduced = Reduced { before: Vec::new(), after: Vec::new(), clusters: Vec::new(), samples: Vec::new() };
        for (sample, (before, after, cluster)) in samples {
            reduced.samples.push(sample);
            reduced.before.push(before);
            reduced.after.push(after);
            reduced.clusters.push(cluster);
        }
        reduced
    }
}

/// A chosen test: its p-value, and the interval of the same test at any level, so that the two never disagree.
#[derive(Debug, Clone)]
pub struct PairedTest {
    change: Change,
    kind: Kind,
    aggregate: Aggregate,
    /// The change of an aggregate other than the mean.
    resampled: Option<Resampled>,
    seed: Seed,
}

impl PairedTest {
    /// Tests the change of an aggregate instead of the mean.
    #[must_use]
    pub(crate) fn for_aggregate(self, aggregate: Aggregate, change: Option<Resampled>) -> Self {
        Self { aggregate, resampled: change, ..self }
    }

    /// The same test with sampled patterns from `seed`, enough of them for decisions at `finest`.
    #[must_use]
    pub(crate) fn with_draws(self, seed: Seed, finest: Level) -> Self {
        Self { change: self.change.with_draws(seed, finest), seed, ..self }
    }

    /// The test. If no sample differs, no aggregate does, except figures of labels.
    pub fn test(&self) -> Test {
        let of_means = self.change.test();
        match &self.resampled {
            _ if self.aggregate == Aggregate::Mean => Test::Mean(of_means),
            Some(_) if of_means == ChangeTest::None => Test::NONE,
            Some(change) if of_means == ChangeTest::NoSampleDiffers && change.value.abs() <= 0.0 => Test::IDENTICAL,
            Some(change) if change.drawn.is_some() => Test::Bootstrap,
            _ => Test::NONE,
        }
    }

    /// The test of the mean change; `None` where another aggregate is tested.
    pub(crate) fn mean_change(&self) -> Option<&Change> {
        (self.aggregate == Aggregate::Mean).then_some(&self.change)
    }

    /// Number of samples.
    pub fn n(&self) -> usize {
        self.change.n()
    }

    /// The difference of the figures (means or other aggregates). `None` without samples.
    pub fn difference(&self) -> Option<f64> {
        match &self.resampled {
            Some(change) => Some(change.value),
            None if self.aggregate == Aggregate::Mean => self.change.difference(),
            None => None,
        }
    }

    /// Returns true if its interval comes from random resamples.
    pub fn is_resampled(&self) -> bool {
        self.test() == Test::Bootstrap
    }

    /// Number of independent units: clusters, or else samples.
    pub fn units(&self) -> usize {
        self.change.units()
    }

    /// Returns true if the change of an aggregate is the same in every resample.
    fn is_degenerate(&self) -> bool {
        let drawn = self.resamples().filter(|_| self.is_resampled());
        drawn.is_some_and(|drawn| karat_stats::describe::is_constant(drawn.replicates()))
    }

    /// The two-sided p-value; `None` without a test.
    pub fn p(&self) -> Option<f64> {
        match self.test() {
            Test::Mean(_) if self.aggregate == Aggregate::Mean => self.change.p(),
            Test::Bootstrap => self.resamples().map(|drawn| drawn.p_two_sided(0.0)),
            Test::IDENTICAL => Some(1.0),
            Test::Mean(_) => None,
        }
    }

    /// The two-sided p-value of a change by `shift`: the α at which an end of the interval is there. `None` for changes of
    /// other aggregates than the mean.
    pub(crate) fn p_of(&self, shift: f64) -> Option<f64> {
        self.mean_change()?.p_of(shift)
    }

    /// The interval of the difference; it excludes 0 exactly if p is at most 1 − `level`. `None` if these samples can
    /// never decide at this level.
    pub fn interval(&self, level: Level) -> Option<Interval> {
        match self.test() {
            Test::Mean(_) if self.aggregate == Aggregate::Mean => self.change.interval(level),
            Test::Bootstrap => self.resamples()?.percentile_interval(level),
            Test::Mean(_) => None,
        }
    }

    /// The standard error of the difference, cluster-robust if there are clusters.
    pub fn standard_error(&self) -> Option<f64> {
        match &self.resampled {
            Some(change) => change.drawn.as_ref()?.standard_error(),
            None => self.change.standard_error(),
        }
    }

    /// The difference with its interval at a level, and what decides nothing about it.
    pub(crate) fn finding(&self, level: Level) -> Option<Finding> {
        let test = self.test();
        let found = Finding::point(self.difference()?, self.n(), test.as_str())?;
        let found = found.with_interval(self.interval(level), self.standard_error());
        let Some(change) = self.mean_change() else {
            let found = if self.is_resampled() { found.with_seed(self.seed) } else { found };
            return Some(found.mark_degenerate(self.is_degenerate()));
        };
        let found = match test {
            Test::Mean(by) if by.assumes_symmetry() => {
                let method = format!("{}, {SYMMETRY}", found.method());
                found.with_method(method)
            }
            _ => found,
        };
        let sampled = change.is_sampled().then_some(self.seed);
        let found = sampled.map_or(found.clone(), |seed| found.with_seed(seed));
        let found = match (change.effective_clusters(), change.df()) {
            (Some(_), Some(df)) => found.with_clusters(df),
            (None, Some(df)) if test == Test::Mean(ChangeTest::PairedT) => found.with_df(df),
            _ => found,
        };
        let found = if change.is_tied() == Some(true) { found.mark_few_vary() } else { found };
        Some(match self.open_reason() {
            Some(why) => found.leave_open(why),
            None => found,
        })
    }

    /// The reason why nothing is decided by the interval of a mean change; `None` if it may.
    pub(crate) fn open_reason(&self) -> Option<String> {
        let change = self.mean_change()?;
        if change.clusters_alike() {
            return Some(ALIKE.to_owned());
        }
        let is_unbounded = change.is_tied() == Some(true) && change.outcomes().is_none() && !change.has_range();
        if let (true, Some(found)) = (is_unbounded, commonest(change.differences())) {
            return Some(no_range_reason(found, "differences"));
        }
        few_clusters_reason(change.units(), change.df().filter(|_| change.clusters().is_some())?)
    }

    /// The inputs for planning further samples: the deviation SE·√n and the cluster size.
    pub fn design(&self) -> Option<PairedDesign> {
        let n = self.n() as f64;
        let deviation = self.standard_error()? * n.sqrt();
        Some(PairedDesign { deviation, cluster_size: n / self.units() as f64 })
    }

    /// The fewest samples (or clusters) with which the test can reach 1 − `level`.
    pub fn fewest(&self, level: Level) -> f64 {
        match self.test() {
            Test::Bootstrap => self.aggregate.min_bootstrap_units().unwrap_or(BOOTSTRAP_FROM) as f64,
            test => test.fewest(level),
        }
    }

    /// The reason why these samples cannot decide at this level, whatever their values; `None` if they can.
    pub fn impossible(&self, level: Level) -> Option<String> {
        let units = if self.change.clusters().is_some() { "clusters" } else { "samples" };
        match self.test() {
            Test::NONE if self.n() < 2 => Some("a single sample cannot be tested".to_owned()),
            Test::NONE if self.units() < 2 => {
                Some("all samples belong to one cluster, so the variation between clusters is unknown".to_owned())
            }
            Test::NONE => Some(match self.aggregate.min_bootstrap_units() {
                Some(fewest) => {
                    format!("the {} needs at least {fewest} {units} for a test", self.aggregate.name())
                }
                None => format!("there is no test for the {} of samples", self.aggregate.name()),
            }),
            _ if (self.units() as f64) < self.fewest(level) => {
                let (there, fewest) = (self.units(), self.fewest(level));
                Some(format!("{there} {units} cannot decide; at least {fewest} are needed"))
            }
            _ if self.p().is_none() => self.open_reason(),
            _ => None,
        }
    }

    /// The reason why the resamples cannot decide at this level, whatever the number of samples: p is at least 2/(B +
    /// 1).
    pub fn too_few_resamples(&self, level: Level) -> Option<String> {
        let there = self.resamples().filter(|_| self.is_resampled())?.replicates().len();
        let needed = (2.0 / level.alpha() - 1e-9).ceil() - 1.0;
        ((there as f64) < needed).then(|| {
            format!("{there} resamples are too few to decide at this level; `statistics.resamples` must be at least {needed}")
        })
    }

    /// Further tests, for information. Where few differences vary there are none: their spread says nothing.
    pub fn second_tests(&self, level: Level, seed: Seed) -> Vec<SecondTest> {
        let mut others = Vec::new();
        let few_vary = self.change.is_tied() != Some(false) && self.change.outcomes().is_none();
        let test = self.test();
        if few_vary && test != Test::Bootstrap || matches!(test, Test::NONE | Test::IDENTICAL) {
            return others;
        }
        match test {
            Test::Mean(ChangeTest::McNemar) => {
                others.extend(
                    self.change.outcomes().map(|it| SecondTest::of_p("McNemar exact", Some(it.mcnemar().p_exact))),
                );
                others.extend(self.plain_t(level).filter(|_| self.change.is_tied() == Some(false)));
            }
            Test::Mean(ChangeTest::SignFlip) => {
                others.extend(self.plain_t(level));
                others.extend(self.bootstrap(level, seed));
            }
            Test::Mean(ChangeTest::PairedT) => others.extend(self.sign_flip_test(seed)),
            Test::Bootstrap => others.extend(self.means_test(level)),
            Test::Mean(_) => {}
        }
        if self.kind == Kind::Ordinal && self.change.clusters().is_none() && self.aggregate == Aggregate::Mean {
            let ranks = wilcoxon(self.change.differences(), WilcoxonZeros::Pratt);
            let p = ranks.and_then(|it| it.p_exact_two_sided.or(it.p_normal));
            others.push(SecondTest::of_p("Wilcoxon signed-rank (Pratt)", p));
        }
        others
    }

    fn resamples(&self) -> Option<&Distribution> {
        self.resampled.as_ref()?.drawn.as_ref()
    }

    fn plain_t(&self, level: Level) -> Option<SecondTest> {
        let test = paired_t(self.change.differences(), level);
        let ci = test.interval.map(|interval| (interval.lo, interval.hi));
        Some(SecondTest { test: "paired t", p: test.p_two_sided, ci, seed: None })
    }

    /// The test of the mean difference, if an aggregate decides.
    fn means_test(&self, level: Level) -> Option<SecondTest> {
        let ci = self.change.interval(level).map(|it| (it.lo, it.hi));
        Some(SecondTest { test: "difference of means", p: Some(self.change.p()?), ci, seed: None })
    }

    fn sign_flip_test(&self, seed: Seed) -> Option<SecondTest> {
        let d = self.change.differences();
        let result = sign_flip(d, PATTERNS, seed).filter(|_| d.len() <= RESAMPLED_UP_TO)?;
        let seed = (!result.exact).then_some(seed.0);
        Some(SecondTest { test: "sign-flip", p: Some(result.p_two_sided), ci: None, seed })
    }

    fn bootstrap(&self, level: Level, seed: Seed) -> Option<SecondTest> {
        let d = self.change.differences();
        if !(BOOTSTRAP_FROM..=RESAMPLED_UP_TO).contains(&d.len()) {
            return None;
        }
        let drawn = bootstrap_mean(d, &Resampling::new(seed))?;
        let interval = drawn.bca(&jackknife_mean(d)?, level).interval?;
        Some(SecondTest { test: "BCa bootstrap", p: None, ci: Some((interval.lo, interval.hi)), seed: Some(seed.0) })
    }
}

/// A figure of one side of an unpaired change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnpairedSide {
    pub(crate) value: f64,
    pub(crate) n: u64,
    pub(crate) se: Option<f64>,
    /// Degrees of freedom; n − 1 if it says none.
    pub(crate) df: Option<f64>,
}

/// The change of two figures of different samples: of rates by the Wilson ends of both, of means by Welch with each side's
/// own degrees of freedom. Without an interval where a side has no precision.
pub(crate) fn unpaired_change(now: UnpairedSide, before: UnpairedSide, rates: bool, level: Level) -> Option<Finding> {
    let what = if rates { "difference of two rates" } else { "difference of two means" };
    let plain = Finding::point(now.value - before.value, now.n as usize, what)?;
    if rates {
        let side = |it: UnpairedSide| RateSide { rate: it.value, n: it.n as f64, df: None };
        let found = newcombe(side(before), side(now), level);
        return Some(plain.with_interval(found.map(|it| it.interval), None));
    }
    let side = |it: UnpairedSide| {
        let df = it.df.unwrap_or(it.n.saturating_sub(1) as f64);
        Some(MeanSide { mean: it.value, standard_error: it.se?, df })
    };
    let found = side(before).zip(side(now)).and_then(|(before, now)| welch(before, now, level));
    let Some(found) = found else { return Some(plain) };
    let whole = plain.with_interval(Some(found.interval), found.standard_error);
    Some(found.df.map_or(whole.clone(), |df| whole.with_df(df)))
}
