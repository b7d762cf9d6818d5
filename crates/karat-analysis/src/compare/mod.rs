//! Two systems, models, variants or runs on the same samples: better, worse, equivalent, or undecided and what it
//! would take (BY-01).
//!
//! Samples are paired by id. Within a sample cells are paired, by system and trial; those that both sides have are reduced,
//! trials first, then the systems that belong together. Each metric gets the
//! test of its kind ([`scores`](PairedScores)), the p-values are corrected over the metrics, and each interval has the
//! level at which its metric is decided: verdict, p-value and interval on one line always say the same.

mod content;
mod diagnostics;
mod evaluations;
pub(crate) mod figures;
mod matching;
pub(crate) mod scores;
mod sides;
mod significance;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use karat_stats::interval::Level;
use karat_stats::multiplicity::{StepRule, local_levels};
use karat_stats::seed::Seed;
use karat_types::{Better, Exit, Policy, Threshold};
use serde::Serialize;

pub use content::changed_samples;
pub use diagnostics::{Change, DiagnosticsChange, MovedSample, SectionChange, SectionCount, TestedChange};
pub use figures::{LabelPair, PairedFigures};
pub use scores::{Kind, PairedScores, PairedTest, SecondTest, Test};
pub use sides::{Side, UnknownSystem};

use crate::figures::finding::Finding;
use crate::planning::needed::Needed;
use crate::run::findings::Findings;
use matching::{MatchedSamples, Matching};
use significance::TestedMetric;

/// Below so many clusters a cluster-robust interval needs caution.
const FEW_CLUSTERS: usize = 8;

/// Ids of samples without a partner that are kept; all are counted.
const KEPT: usize = 1_000;

/// How a comparison is made.
#[derive(Debug, Clone)]
pub struct CompareOptions {
    /// Confidence level of the family of all metrics.
    pub level: Level,
    /// How p-values are corrected for the number of metrics.
    pub correction: StepRule,
    /// Names of metrics, or their beginnings followed by `*`; all without any.
    pub metrics: Vec<String>,
    /// The smallest difference that matters, by metric; before the scorers' own `margin`. A percentage is one of the
    /// baseline's figure.
    pub margins: BTreeMap<String, Threshold>,
    /// Share of the samples that may lack a score which they should have: with more of them a metric is undecided.
    pub max_unscored: f64,
    /// Whether a metric is decided although the two sides were not measured by the same ruler.
    pub any_ruler: bool,
    /// Ids of samples whose content is another on each side: they are no pairs.
    pub changed: BTreeSet<String>,
    /// Seed of what is random.
    pub seed: Seed,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            level: Level::P95,
            correction: StepRule::Holm,
            metrics: Vec::new(),
            margins: BTreeMap::new(),
            max_unscored: Policy::default().max_unscored,
            any_ruler: false,
            changed: BTreeSet::new(),
            seed: Seed(1),
        }
    }
}

/// What a comparison says of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ComparisonVerdict {
    /// The candidate is better.
    Better,
    /// The candidate is worse.
    Worse,
    /// The two differ by less than the declared margin, be it for certain or not.
    Equivalent,
    /// None of these can be said yet.
    Undecided,
}

/// Samples that both sides have and that have no score on both, by why; an n/a is no score that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct LeftOut {
    /// All of them.
    pub n: u64,
    /// The metric does not apply on a side, or a condition left the cell out.
    pub not_applicable: u64,
    /// A side's cell failed.
    pub errors: u64,
    /// A side's scorer failed.
    pub unscored: u64,
    /// A side's cell has no result yet.
    pub open: u64,
    /// The same by cell, also of samples that are compared on what is left of them.
    pub cells: LostCells,
}

/// Pairs of cells, one of each side, that should have a score on both: one for each sample, pair of systems and trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct LostCells {
    /// All of them.
    pub due: u64,
    /// A side's cell failed.
    pub errors: u64,
    /// A side's scorer failed, or what is left of the sample's trials is too little for its `reduce`.
    pub unscored: u64,
    /// A side's cell has no result yet.
    pub open: u64,
}

impl LostCells {
    /// Those that lack a score on a side, and are left out.
    pub fn missing(&self) -> u64 {
        self.errors + self.unscored + self.open
    }
}

impl LeftOut {
    /// Samples that should have a score.
    pub fn missing(&self) -> u64 {
        self.n - self.not_applicable
    }

    /// Whether samples are compared of which only a part is left.
    pub fn is_partial(&self) -> bool {
        self.cells.missing() > 0 && self.cells.due > self.cells.missing() && self.cells.missing() != self.missing()
    }

    /// Why what is left can decide nothing, of `n` samples with a score on both sides: more are lost than may be.
    fn too_many_missing(&self, n: usize, allowed: f64) -> Option<String> {
        let (lost, all) = (self.cells.missing(), self.cells.due);
        let share = lost as f64 / all as f64;
        (lost > 0 && share > allowed).then(|| {
            let (share, allowed) = (100.0 * share, 100.0 * allowed);
            let what = if all == self.missing() + n as u64 { "samples" } else { "pairs of cells" };
            format!("{lost} of {all} {what} ({share:.1} %) lack a score on a side, and `policy.max_unscored` allows {allowed:.1} %")
        })
    }
}

/// One metric of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedMetric {
    /// The metric.
    pub metric: String,
    /// How samples become the figures that are compared: the metric's own `aggregate`.
    pub aggregate: String,
    /// What kind of numbers it gives.
    pub kind: Kind,
    /// Direction.
    pub better: Better,
    /// Lowest and highest possible value, where it has them.
    pub range: Option<(f64, f64)>,
    /// Figure of the baseline on the compared samples.
    pub baseline: Finding,
    /// Figure of the candidate on the compared samples.
    pub candidate: Finding,
    /// Candidate − baseline, with the interval at the level at which this metric is decided.
    pub difference: Finding,
    /// The test that decides.
    pub test: &'static str,
    /// Its p-value; `None` where there is no test.
    pub p: Option<f64>,
    /// The same, corrected over the metrics.
    pub p_adjusted: Option<f64>,
    /// Other tests of the same differences.
    pub beside: Vec<SecondTest>,
    /// Samples of both sides, and cells, that lack a score on either.
    pub left_out: LeftOut,
    /// Lowest and highest that the difference of means could be, whatever becomes of the scores that are missing: left out, as
    /// in `difference`, or each at one end of the metric's range. `None` where none is missing, or the metric has no range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<(f64, f64)>,
    /// The smallest difference that matters, in the metric's unit, where it is declared.
    pub margin: Option<f64>,
    /// The same difference with the interval that decides equivalence: of the same test at 1 − 2α (TOST). `None`
    /// without a margin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equivalence: Option<Finding>,
    /// What follows.
    pub verdict: ComparisonVerdict,
    /// Why these samples could decide nothing, whatever they said: too few of them, of their scores, or of the resamples, or
    /// another ruler on each side; where it is undecided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impossible: Option<String>,
    /// What it would take, where it is undecided.
    pub needed: Option<Needed>,
    /// The smallest difference that these samples detect with [`PLANNED_POWER`](crate::planning::needed::PLANNED_POWER).
    pub detectable: Option<f64>,
}

/// A metric that both sides have and that cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotCompared {
    /// The metric.
    pub metric: String,
    /// Why.
    pub reason: String,
}

/// One side in the result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SideSummary {
    /// How it is called.
    pub label: String,
    /// Its systems that are compared, in the order of the other side's.
    pub systems: Vec<String>,
    /// Samples that only this side has.
    pub n_only: u64,
    /// Their ids, the first of them.
    pub only: Vec<String>,
}

/// A comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunComparison {
    /// What is compared with.
    pub baseline: SideSummary,
    /// What is compared.
    pub candidate: SideSummary,
    /// Samples that both sides have.
    pub matched: u64,
    /// Ids of samples that both sides have with other content, so that they are no pairs.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub changed: BTreeSet<String>,
    /// Confidence level of the family.
    pub level: f64,
    /// The correction over the metrics: `holm`, `bh`, `none`.
    pub correction: &'static str,
    /// Metrics whose p-values were corrected together; those that have the same scores count once.
    pub family: u64,
    /// What one more sample costs under both sides; `None` when a price is unknown.
    pub cost_per_sample_usd: Option<f64>,
    /// The metrics, in the plan's order.
    pub metrics: Vec<ComparedMetric>,
    /// Metrics of both sides without a sample that has a score on both, or whose difference no number says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_compared: Vec<NotCompared>,
    /// What changed in the diagnostics that both sides have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<DiagnosticsChange>,
    /// What the reader must know before trusting a figure.
    pub warnings: Vec<String>,
}

impl RunComparison {
    /// The exit code, where some verdicts bind: *worse* is a regression, *undecided* its own code.
    pub fn exit(&self, binding: &[ComparisonVerdict]) -> Exit {
        let code = |verdict: ComparisonVerdict| match verdict {
            ComparisonVerdict::Worse => Exit::GateFailed,
            ComparisonVerdict::Undecided => Exit::Undecided,
            ComparisonVerdict::Better | ComparisonVerdict::Equivalent => Exit::Pass,
        };
        let bound = self.metrics.iter().map(|it| it.verdict).filter(|verdict| binding.contains(verdict));
        let lost = if binding.contains(&ComparisonVerdict::Undecided) && !self.not_compared.is_empty() {
            Exit::Undecided
        } else {
            Exit::Pass
        };
        bound.map(code).fold(lost, Exit::worst)
    }
}

/// Why two sides cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// No system of one side belongs to one of the other.
    #[error(
        "nothing can be paired: the baseline has the systems {baseline}, the candidate {candidate}, and more than one \
         of them could belong together; name one model or variant of each side with `--models` or `--variants`"
    )]
    NoPair {
        /// Systems of the baseline.
        baseline: String,
        /// Systems of the candidate.
        candidate: String,
    },
    /// The sides have no sample in common.
    #[error("no sample is in both: ids of the baseline are like {baseline:?}, of the candidate like {candidate:?}")]
    NoSample {
        /// An id of the baseline.
        baseline: String,
        /// An id of the candidate.
        candidate: String,
    },
    /// The samples that the sides have in common have other content on each.
    #[error(
        "no sample is the same in both: {n} of them share an id, and what was asked changed; run both sides on the same \
         dataset, or pair them all the same with `--allow-changed`"
    )]
    OtherContent {
        /// How many share an id.
        n: usize,
    },
    /// No metric is in both, or none fits.
    #[error("no metric to compare: the baseline has {baseline}, the candidate has {candidate}, asked for is {asked}")]
    NoMetric {
        /// Metrics of the baseline.
        baseline: String,
        /// Metrics of the candidate.
        candidate: String,
        /// What was asked for.
        asked: String,
    },
    /// No metric can be compared.
    #[error("nothing to compare: {why}")]
    NoScore {
        /// Why each cannot, and what each side lacks.
        why: String,
    },
    /// A margin that is a share of a figure which is 0.
    #[error(
        "the margin of {metric} is a share of the baseline's figure, which is 0: give it in the metric's unit, as in \
         `--margin {metric}=0.1`"
    )]
    MarginOfZero {
        /// The metric.
        metric: String,
    },
    /// A margin for a metric that is not compared.
    #[error("a margin is given for {metric:?}, which is no compared metric; there are {known}")]
    UnknownMargin {
        /// As given.
        metric: String,
        /// The compared metrics.
        known: String,
    },
}

/// Compares the candidate with the baseline.
///
/// # Errors
/// Nothing that belongs together: no system, no sample, no metric, or no score.
pub fn compare(
    baseline: &Side<'_>,
    candidate: &Side<'_>,
    options: &CompareOptions,
) -> Result<RunComparison, CompareError> {
    let pairs = sides::pairs(baseline, candidate);
    if pairs.is_empty() {
        let list = |side: &Side<'_>| side.ids().join(", ");
        return Err(CompareError::NoPair { baseline: list(baseline), candidate: list(candidate) });
    }
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
    let warnings = matching.warnings(&tested);
    if tested.is_empty() {
        let reasons = not_compared.iter().map(|it| format!("{}: {}.", it.metric, it.reason));
        return Err(CompareError::NoScore { why: reasons.chain(warnings).collect::<Vec<String>>().join(" ") });
    }
    if let Some(it) = tested.iter().find(|it| options.margins.contains_key(&it.spec.name) && it.has_void_margin()) {
        return Err(CompareError::MarginOfZero { metric: it.spec.name.clone() });
    }
    let originals = first_with_same_scores(&tested);
    let is_original = |at: usize| originals.get(at) == Some(&at);
    let once = |(at, it): (usize, &TestedMetric<'_>)| it.test.p().filter(|_| is_original(at));
    let p_values: Vec<Option<f64>> = tested.iter().enumerate().map(once).collect();
    let adjusted = options.correction.adjust(&p_values);
    let levels = local_levels(&p_values, options.correction, options.level.alpha());
    let cost = matching.cost_per_sample();
    let decided = tested.iter().zip(&originals).filter_map(|(it, original)| {
        let local = Level::from_alpha(*levels.get(*original)?).unwrap_or(options.level);
        it.decide(*adjusted.get(*original)?, local, cost, options)
    });
    let metrics: Vec<ComparedMetric> = decided.collect();
    let diagnostics = diagnostics::changes(&matching, options);
    Ok(RunComparison {
        baseline: matching.summary(baseline, &samples.only_baseline),
        candidate: matching.summary(candidate, &samples.only_candidate),
        matched: samples.matched.len() as u64,
        changed: samples.changed,
        level: options.level.get(),
        correction: match options.correction {
            StepRule::Alone => "none",
            StepRule::Holm => "holm",
            StepRule::BenjaminiHochberg => "bh",
        },
        family: p_values.iter().flatten().count() as u64,
        cost_per_sample_usd: cost,
        diagnostics,
        metrics,
        not_compared,
        warnings,
    })
}

/// For each metric the first one that has the same scores on both sides: `pass` beside the only check says nothing new, and is
/// no further test.
fn first_with_same_scores(tested: &[TestedMetric<'_>]) -> Vec<usize> {
    let first =
        |(at, it): (usize, &TestedMetric<'_>)| tested.iter().position(|other| other.has_same_scores(it)).unwrap_or(at);
    tested.iter().enumerate().map(first).collect()
}
