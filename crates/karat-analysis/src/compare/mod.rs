//! Compares two systems, models, variants or runs on the same samples: better, worse, equivalent, or undecided with the
//! samples that a decision needs.
//!
//! Samples are paired by id; within a sample, cells are paired by system and trial, and reduced over the cells that
//! both sides have, first trials, then systems. Each metric gets the test of its kind ([`PairedScores`]), p-values are
//! corrected over the metrics, and each interval has the level at which its metric is decided, so verdict, p-value and
//! interval never contradict each other. Systems whose cached results both runs share are left out ([`results_of_both`]).
//! Reading order: `sides` (pairs of systems), `reused` (which of them changed), `matching` (paired scores, warnings),
//! [`crate::infer`] (the tests), `significance` (the verdict of a metric), `systems` (each system by itself), `movers`
//! (samples that got better or worse), `diagnostics` and `evaluations`, `content` (samples that changed). `contrasts` tests the
//! variants and models of one run.

pub(crate) mod content;
pub(crate) mod contrasts;
mod diagnostics;
mod evaluations;
mod matching;
mod movers;
mod reused;
mod sides;
mod significance;
mod systems;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use karat_stats::compare::multiplicity::StepRule;
use karat_stats::interval::Level;
use karat_stats::numeric::seed::Seed;
use karat_types::{Better, Exit, Policy, Threshold};
use serde::Serialize;

pub use content::{RunSamples, changed_samples};
pub use diagnostics::{Change, DiagnosticsChange, MovedSample, TestedChange};
pub use movers::{BothOutputs, CutOutput, Mover, Movers, add_outputs};
pub use reused::{SystemResults, results_of_both};
pub use sides::{Side, UnknownSystem};
pub use systems::SystemChange;

pub use crate::figures::contrast::{ComparisonVerdict, Contrast, Family};
use crate::figures::groups::system_id;
pub use crate::figures::looks::{EarlierRun, FirstLook, Look, Looks};
use crate::figures::planning::needed::Needed;
use crate::findings::Findings;
pub use crate::infer::change::{Kind, PairedScores, PairedTest, SecondTest, Test};
use crate::infer::finding::Finding;
pub use crate::infer::pairs::{LabelPair, PairedFigures};
use crate::score::instrument::metric_names::by_words_warning;
use crate::score::matched_cells::MissingCount;
use matching::{MatchedSamples, Matching};
use significance::TestedMetric;

/// Number of ids listed of samples without a partner; all are counted.
const KEPT: usize = 1_000;

/// Options of a comparison.
#[derive(Debug, Clone)]
pub struct CompareOptions {
    /// Confidence level of the family of all metrics.
    pub level: Level,
    /// Correction of p-values for the number of metrics.
    pub correction: StepRule,
    /// Names of metrics, or prefixes followed by `*`; empty for all.
    pub metrics: Vec<String>,
    /// The smallest difference that matters, by metric; takes precedence over the scorers' own `margin`. A percentage
    /// is relative to the baseline's figure.
    pub margins: BTreeMap<String, Threshold>,
    /// The difference that further samples are planned for, by metric or pattern. Without one it is the margin, else a
    /// twentieth of the scale.
    pub mde: BTreeMap<String, Threshold>,
    /// Allowed share of missing scores; a metric with more is undecided.
    pub max_unscored: f64,
    /// Decide a metric even if the two sides were measured by different instruments.
    pub any_instrument: bool,
    /// Ids of samples whose content differs between the sides; they are not paired.
    pub changed: BTreeSet<String>,
    /// The results of the systems of both runs, if they are two: systems with the same cached results are left out.
    pub results: Option<[Vec<SystemResults>; 2]>,
    /// The largest number of movers listed in each direction.
    pub movers: usize,
    /// Seed of random methods.
    pub seed: Seed,
}

/// Number of movers listed in each direction unless another is asked for.
pub const MOVERS: usize = 10;

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            level: Level::P95,
            correction: StepRule::Holm,
            metrics: Vec::new(),
            margins: BTreeMap::new(),
            mde: BTreeMap::new(),
            max_unscored: Policy::default().max_unscored,
            any_instrument: false,
            changed: BTreeSet::new(),
            results: None,
            movers: MOVERS,
            seed: Seed(1),
        }
    }
}

/// Pairs of systems as (baseline, candidate).
type SystemPairs = Vec<(usize, usize)>;

impl CompareOptions {
    /// The pairs of systems with the same cached results on both sides, and the other pairs.
    fn split_by_results(&self, pairs: &[(usize, usize)]) -> (SystemPairs, SystemPairs) {
        let is_same = |(from, to): &(usize, usize)| {
            let results = self.results.as_ref().and_then(|[before, after]| before.get(*from).zip(after.get(*to)));
            results.is_some_and(|(before, after)| before.is_same_as(after))
        };
        pairs.iter().partition(|pair| is_same(pair))
    }
}

/// Samples of both sides that lack a score on either, by reason. Not-applicable scores are not missing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct LeftOut {
    /// Total number.
    pub n: u64,
    /// The metric does not apply on a side, or a condition skipped the cell.
    pub not_applicable: u64,
    /// A side's cell failed.
    pub errors: u64,
    /// A side's scorer failed.
    pub unscored: u64,
    /// A side's cell has no result yet.
    pub open: u64,
    /// Counts by cell, including samples that are compared on their remaining cells.
    pub cells: LostCells,
}

/// Pairs of cells that should have a score on both sides: one per sample, pair of systems and trial.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct LostCells {
    /// Total number.
    pub due: u64,
    /// A side's cell failed.
    pub errors: u64,
    /// A side's scorer failed, or too few trials of the sample are left for its `reduce`.
    pub unscored: u64,
    /// A side's cell has no result yet.
    pub open: u64,
    /// Judgments that failed on a side of pairs with a score, each as its part of a cell.
    #[serde(skip_serializing_if = "is_none")]
    pub judgments: f64,
}

/// Returns true for 0.
fn is_none(number: &f64) -> bool {
    *number <= 0.0
}

impl LostCells {
    /// Number of pairs without a score on a side.
    pub fn missing(&self) -> u64 {
        self.errors + self.unscored + self.open
    }
}

impl LeftOut {
    /// Number of samples that should have a score.
    pub fn missing(&self) -> u64 {
        self.n - self.not_applicable
    }

    /// Returns true if some samples are compared on a part of their cells.
    pub fn is_partial(&self) -> bool {
        self.cells.missing() > 0 && self.cells.due > self.cells.missing() && self.cells.missing() != self.missing()
    }

    /// The reason why too many scores are missing for a decision, given `n` samples with a score on both sides.
    fn too_many_missing(&self, n: usize, allowed: f64) -> Option<String> {
        let (lost, all) = (self.cells.missing(), self.cells.due);
        let lost =
            MissingCount { n: lost as f64 + self.cells.judgments, due: usize::try_from(all).unwrap_or(usize::MAX) };
        (lost.n > 0.0 && lost.share() > allowed).then(|| {
            let (share, allowed) = (100.0 * lost.share(), 100.0 * allowed);
            let is_whole = all == self.missing() + n as u64 && self.cells.judgments <= 0.0;
            let what = if is_whole { "samples" } else { "pairs of cells" };
            let lost = lost.number_text();
            format!("{lost} of {all} {what} ({share:.1} %) lack a score on one side, and `policy.max_unscored` allows {allowed:.1} %")
        })
    }
}

/// One metric of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedMetric {
    /// The metric.
    pub metric: String,
    /// The aggregate of the compared figures: the metric's own `aggregate`.
    pub aggregate: String,
    /// The kind of its numbers.
    pub kind: Kind,
    /// Direction.
    pub better: Better,
    /// Lowest and highest possible value, if bounded.
    pub range: Option<(f64, f64)>,
    /// The unit of its values: `ms` or `USD`; absent for scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<&'static str>,
    /// Figure of the baseline on the compared samples.
    pub baseline: Finding,
    /// Figure of the candidate on the compared samples.
    pub candidate: Finding,
    /// Candidate − baseline, with the interval at the level of this metric's decision.
    pub difference: Finding,
    /// The test that decides.
    pub test: &'static str,
    /// Its p-value; `None` without a test.
    pub p: Option<f64>,
    /// The p-value corrected over the family.
    pub p_adjusted: Option<f64>,
    /// The family.
    pub family: Family,
    /// The number of the look at this change.
    #[serde(flatten)]
    pub look: Look,
    /// Other tests of the same differences, for information.
    pub beside: Vec<SecondTest>,
    /// Samples and cells of both sides without a score on either.
    pub left_out: LeftOut,
    /// The lowest and highest possible difference of means if missing scores were at the ends of the metric's range, or
    /// left out. `None` if none is missing, or the metric has no range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<(f64, f64)>,
    /// The smallest difference that matters, in the metric's unit, if declared.
    pub margin: Option<f64>,
    /// The difference with the interval that decides equivalence: that of the same test at 1 − 2α (TOST). `None`
    /// without a margin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equivalence: Option<Finding>,
    /// The verdict.
    pub verdict: ComparisonVerdict,
    /// The reason why no data could decide this metric: too few samples, scores or resamples, or different instruments.
    /// Only if undecided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impossible: Option<String>,
    /// The samples needed for a decision, if undecided.
    pub needed: Option<Needed>,
    /// The smallest difference that these samples detect with a power of
    /// [`PLANNED_POWER`](crate::figures::planning::PLANNED_POWER).
    pub detectable: Option<f64>,
}

/// A metric that both sides have and that cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotCompared {
    /// The metric.
    pub metric: String,
    /// The reason.
    pub reason: String,
}

/// One side in the result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SideSummary {
    /// Its display name.
    pub label: String,
    /// Its compared systems, in the order of their partners.
    pub systems: Vec<String>,
    /// Number of samples that only this side has.
    pub n_only: u64,
    /// The first of their ids.
    pub only: Vec<String>,
    /// Cost of one of its cells in dollars; `None` if a price is unknown.
    pub cost_per_cell_usd: Option<f64>,
    /// Mean time of one of its cells in milliseconds; `None` if none was timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
}

/// A comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunComparison {
    /// The baseline.
    pub baseline: SideSummary,
    /// The candidate.
    pub candidate: SideSummary,
    /// Samples that both sides have.
    pub matched: u64,
    /// Ids of samples whose content differs between the sides; they are not paired.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub changed: BTreeSet<String>,
    /// Systems whose results are the same cached results in both runs. They are left out, unless all systems are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unchanged: Vec<String>,
    /// The two sides are parts of one run.
    #[serde(skip)]
    pub of_one_run: bool,
    /// Confidence level of the family.
    pub level: f64,
    /// The correction over the metrics: `holm`, `bh`, `none`.
    pub correction: &'static str,
    /// Number of p-values corrected together: those of the headline metrics, of two variants (models) of one run those of
    /// all contrasts of its family. Metrics with the same scores count once.
    pub family: u64,
    /// Cost of one more sample under both sides; `None` if a price is unknown.
    pub cost_per_sample_usd: Option<f64>,
    /// The change of each compared system by itself, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub systems: Vec<SystemChange>,
    /// Number of p-values of `systems` corrected together.
    #[serde(skip_serializing_if = "is_zero")]
    pub system_family: u64,
    /// Samples that got better or worse, by metric, the primary metric first.
    pub movers: Vec<Movers>,
    /// The metrics over all compared systems, in the plan's order.
    pub metrics: Vec<ComparedMetric>,
    /// Metrics of both sides that cannot be compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_compared: Vec<NotCompared>,
    /// Changes of the diagnostics that both sides have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<DiagnosticsChange>,
    /// Warnings about the figures.
    pub warnings: Vec<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl RunComparison {
    /// Returns true if all systems have the same cached results in both runs, so that all of them are compared.
    pub fn all_unchanged(&self) -> bool {
        !self.unchanged.is_empty() && self.candidate.systems == self.unchanged
    }

    /// The exit code if some verdicts are binding: *worse* is a regression, *undecided* has its own code. Where headline
    /// metrics, or those that a gate decides, are compared, they alone bind.
    pub fn exit(&self, binding: &[ComparisonVerdict]) -> Exit {
        let code = |verdict: ComparisonVerdict| match verdict {
            ComparisonVerdict::Worse => Exit::GateFailed,
            ComparisonVerdict::Undecided => Exit::Undecided,
            ComparisonVerdict::Better | ComparisonVerdict::Equivalent => Exit::Pass,
        };
        let any = self.metrics.iter().any(|it| it.family != Family::Other);
        let bound = self.metrics.iter().filter(|it| !any || it.family != Family::Other);
        let bound = bound.map(|it| it.verdict).filter(|verdict| binding.contains(verdict));
        let lost = if binding.contains(&ComparisonVerdict::Undecided) && !self.not_compared.is_empty() {
            Exit::Undecided
        } else {
            Exit::Pass
        };
        bound.map(code).fold(lost, Exit::worst)
    }
}

/// The errors of comparing two sides.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// No system of one side can be paired with one of the other.
    #[error(
        "the systems cannot be paired: the baseline has {baseline}, the candidate has {candidate}, and the pairing is \
         ambiguous; choose one model or variant of each side with `--models` or `--variants`"
    )]
    NoPair {
        /// Systems of the baseline.
        baseline: String,
        /// Systems of the candidate.
        candidate: String,
    },
    /// The sides have no sample in common.
    #[error(
        "no sample is in both: ids of the baseline look like {baseline:?}, ids of the candidate like {candidate:?}"
    )]
    NoSample {
        /// An id of the baseline.
        baseline: String,
        /// An id of the candidate.
        candidate: String,
    },
    /// All common samples differ in content.
    #[error(
        "the runs have no sample in common: {n} share an id but differ in content; run both sides on the same dataset, or \
         pair them anyway with `--allow-changed`"
    )]
    OtherContent {
        /// Number of samples with a common id.
        n: usize,
    },
    /// No common metric, or none that matches.
    #[error("no metric to compare: the baseline has {baseline}, the candidate has {candidate}, requested: {asked}")]
    NoMetric {
        /// Metrics of the baseline.
        baseline: String,
        /// Metrics of the candidate.
        candidate: String,
        /// The requested metrics.
        asked: String,
    },
    /// No metric can be compared.
    #[error("nothing to compare: {why}")]
    NoScore {
        /// The reason for each metric, and the gaps of each side.
        why: String,
    },
    /// A margin relative to a figure of 0.
    #[error(
        "the margin of {metric} is a percentage of the baseline's figure, which is 0: give it in the metric's unit, as in \
         `--margin {metric}=0.1`"
    )]
    MarginOfZero {
        /// The metric.
        metric: String,
    },
    /// A margin for a metric that is not compared.
    #[error("a margin is given for {metric:?}, which is not compared; compared metrics: {known}")]
    UnknownMargin {
        /// The name as given.
        metric: String,
        /// The compared metrics.
        known: String,
    },
}

/// Compares the candidate with the baseline.
///
/// # Errors
/// There is no common system, sample, metric or score.
pub fn compare(
    baseline: &Side<'_>,
    candidate: &Side<'_>,
    options: &CompareOptions,
) -> Result<RunComparison, CompareError> {
    let all_pairs = sides::pairs(baseline, candidate);
    if all_pairs.is_empty() {
        let list = |side: &Side<'_>| side.ids().join(", ");
        return Err(CompareError::NoPair { baseline: list(baseline), candidate: list(candidate) });
    }
    let (unchanged, changed) = options.split_by_results(&all_pairs);
    let pairs = if changed.is_empty() { all_pairs } else { changed };
    let samples = MatchedSamples::of(baseline.findings, candidate.findings, &options.changed);
    if samples.matched.is_empty() && !samples.changed.is_empty() {
        return Err(CompareError::OtherContent { n: samples.changed.len() });
    }
    if samples.matched.is_empty() {
        let first = |findings: &Findings| findings.sample_id(0).to_owned();
        let (baseline, candidate) = (first(baseline.findings), first(candidate.findings));
        return Err(CompareError::NoSample { baseline, candidate });
    }
    let matching = Matching { baseline, candidate, pairs: &pairs, samples: &samples };
    let metrics = matching.metrics(options)?;
    let (tested, not_compared) = matching.test_all(&metrics, options);
    let mut warnings = matching.warnings(&tested);
    warnings.extend(stop_warnings(baseline, candidate));
    warnings.extend(by_words_warning(&candidate.findings.plan));
    warnings.extend(tested.first().and_then(|it| it.look.sentence(options.level.alpha())));
    if tested.is_empty() {
        let reasons = not_compared.iter().map(|it| format!("{}: {}.", it.metric, it.reason));
        return Err(CompareError::NoScore { why: reasons.chain(warnings).collect::<Vec<String>>().join(" ") });
    }
    if let Some(it) = tested.iter().find(|it| options.margins.contains_key(&it.spec.name) && it.has_void_margin()) {
        return Err(CompareError::MarginOfZero { metric: it.spec.name.clone() });
    }
    let places = contrasts::correct_sides((baseline, candidate), &tested, options);
    let cost = matching.cost_per_sample();
    let decided = tested.iter().zip(&places).filter_map(|(it, place)| {
        let place = (*place)?;
        Some(ComparedMetric { beside: it.second_tests(place.level, options), ..it.decide(place, cost, options)? })
    });
    let decided: Vec<ComparedMetric> = decided.collect();
    let binding = places.iter().flatten().min_by_key(|place| place.family);
    let diagnostics = diagnostics::changes(&matching, options);
    let (systems, system_family) =
        if pairs.len() > 1 { systems::changes(&matching, &metrics, options) } else { (Vec::new(), 0) };
    let id = |(_, system): &(usize, usize)| system_id(&candidate.findings.plan, *system);
    Ok(RunComparison {
        baseline: matching.summary(baseline, &samples.only_baseline),
        candidate: matching.summary(candidate, &samples.only_candidate),
        matched: samples.matched.len() as u64,
        movers: movers::movers(&matching, &metrics, options),
        unchanged: unchanged.iter().map(id).collect(),
        of_one_run: std::ptr::eq(baseline.findings, candidate.findings),
        systems,
        system_family,
        changed: samples.changed.clone(),
        level: options.level.get(),
        correction: match options.correction {
            StepRule::Alone => "none",
            StepRule::Holm => "holm",
            StepRule::BenjaminiHochberg => "bh",
        },
        family: binding.map_or(0, |place| place.tests),
        cost_per_sample_usd: cost,
        diagnostics,
        metrics: decided,
        not_compared,
        warnings,
    })
}

/// Warnings about runs that stopped early.
fn stop_warnings(baseline: &Side<'_>, candidate: &Side<'_>) -> Vec<String> {
    let both = [baseline, candidate];
    let warning = |side: &&Side<'_>| {
        let course = side.findings.stopped_after()?;
        Some(format!(
            "{} stopped early, after {course}: only these are compared, and its means lean away from the bounds of its gates.",
            side.label
        ))
    };
    let mut warnings: Vec<String> = both.iter().filter_map(warning).collect();
    warnings.dedup();
    warnings
}

/// For each metric the index of the first metric with the same scores on both sides: `pass` with a single check repeats
/// it, and is no further test.
fn first_with_same_scores(tested: &[TestedMetric<'_>]) -> Vec<usize> {
    let first =
        |(at, it): (usize, &TestedMetric<'_>)| tested.iter().position(|other| other.has_same_scores(it)).unwrap_or(at);
    tested.iter().enumerate().map(first).collect()
}
