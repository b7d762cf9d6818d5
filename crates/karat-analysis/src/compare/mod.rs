//! Two systems, models, variants or runs on the same samples: better, worse, equivalent, or undecided and what it
//! would take (BY-01).
//!
//! Samples are paired by id; trials are averaged first, then the systems that belong together. Each metric gets the
//! test of its kind ([`scores`](PairedScores)), the p-values are corrected over the metrics, and each interval has the
//! level at which its metric is decided: verdict, p-value and interval on one line always say the same.

mod diagnostics;
mod scores;
mod sides;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use karat_stats::interval::Level;
use karat_stats::multiplicity::{StepRule, local_levels};
use karat_stats::power::{Alternative, items_for, paired_t_effect, paired_t_items};
use karat_stats::seed::Seed;
use karat_types::{Better, MetricSpec, PlanHeader, Scale};
use serde::Serialize;

pub use diagnostics::{Change, DiagnosticsChange, Moved, SectionChange, SectionCount, TestedChange};
pub use scores::{Kind, PairedScores, PairedTest, SecondTest, Test};
pub use sides::{NotThere, Side};

use crate::estimate::{self, Aggregate, Observations};
use crate::finding::Finding;
use crate::findings::Findings;
use crate::groups::system_id;
use crate::labels::dimension_scale;
use crate::table::State;

/// Power for which samples are planned.
pub const PLANNED_POWER: f64 = 0.8;

/// Below so many clusters a cluster-robust interval needs caution.
const FEW_CLUSTERS: usize = 8;

/// A scale with more steps counts as continuous.
const MOST_STEPS: f64 = 100.0;

/// Ids of samples without a partner that are kept; all are counted.
const KEPT: usize = 1_000;

/// How a comparison is made.
#[derive(Debug, Clone)]
pub struct Options {
    /// Confidence level of the family of all metrics.
    pub level: Level,
    /// How p-values are corrected for the number of metrics.
    pub correction: StepRule,
    /// Names of metrics, or their beginnings followed by `*`; all without any.
    pub metrics: Vec<String>,
    /// The smallest difference that matters, by metric; before the scorers' own `margin`.
    pub margins: BTreeMap<String, f64>,
    /// Seed of what is random.
    pub seed: Seed,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            level: Level::P95,
            correction: StepRule::Holm,
            metrics: Vec::new(),
            margins: BTreeMap::new(),
            seed: Seed(1),
        }
    }
}

/// What a comparison says of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The candidate is better.
    Better,
    /// The candidate is worse.
    Worse,
    /// The two differ by less than the declared margin.
    Equivalent,
    /// None of these can be said yet.
    Undecided,
}

/// Samples that would decide.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Needed {
    /// The difference that they would detect: the margin, or the one observed.
    pub difference: f64,
    /// With which probability.
    pub power: f64,
    /// Samples in all.
    pub samples: u64,
    /// Samples beside those that there are.
    pub more: u64,
    /// What those more would cost under both sides; `None` when a price is unknown.
    pub cost_usd: Option<f64>,
}

/// One metric of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedMetric {
    /// The metric.
    pub metric: String,
    /// What kind of numbers it gives.
    pub kind: Kind,
    /// Direction.
    pub better: Better,
    /// Lowest and highest possible value, where it has them.
    pub range: Option<(f64, f64)>,
    /// Mean of the baseline over the compared samples.
    pub baseline: Finding,
    /// Mean of the candidate over the compared samples.
    pub candidate: Finding,
    /// Mean of candidate − baseline, with the interval at the level at which this metric is decided.
    pub difference: Finding,
    /// The test that decides.
    pub test: &'static str,
    /// Its p-value; `None` where it is undefined.
    pub p: Option<f64>,
    /// The same, corrected over the metrics.
    pub p_adjusted: Option<f64>,
    /// Other tests of the same differences.
    pub beside: Vec<SecondTest>,
    /// Compared samples that lack a score on either side.
    pub left_out: u64,
    /// The smallest difference that matters, where it is declared.
    pub margin: Option<f64>,
    /// What follows.
    pub verdict: Verdict,
    /// What it would take, where it is undecided.
    pub needed: Option<Needed>,
    /// The smallest difference that these samples detect with [`PLANNED_POWER`].
    pub detectable: Option<f64>,
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
pub struct Compared {
    /// What is compared with.
    pub baseline: SideSummary,
    /// What is compared.
    pub candidate: SideSummary,
    /// Samples that both sides have.
    pub matched: u64,
    /// Confidence level of the family.
    pub level: f64,
    /// The correction over the metrics: `holm`, `bh`, `none`.
    pub correction: &'static str,
    /// Metrics whose p-values were corrected together.
    pub family: u64,
    /// What one more sample costs under both sides; `None` when a price is unknown.
    pub cost_per_sample_usd: Option<f64>,
    /// The metrics, in the plan's order.
    pub metrics: Vec<ComparedMetric>,
    /// What changed in the diagnostics that both sides have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<DiagnosticsChange>,
    /// What the reader must know before trusting a figure.
    pub warnings: Vec<String>,
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
/// Nothing that belongs together: no system, no sample, or no metric.
pub fn compare(baseline: &Side<'_>, candidate: &Side<'_>, options: &Options) -> Result<Compared, CompareError> {
    let pairs = sides::pairs(baseline, candidate);
    if pairs.is_empty() {
        let list = |side: &Side<'_>| side.ids().join(", ");
        return Err(CompareError::NoPair { baseline: list(baseline), candidate: list(candidate) });
    }
    let samples = Samples::of(baseline.findings, candidate.findings);
    if samples.matched.is_empty() {
        let first = |findings: &Findings| findings.sample_id(0).to_owned();
        let (baseline, candidate) = (first(baseline.findings), first(candidate.findings));
        return Err(CompareError::NoSample { baseline, candidate });
    }
    let matching = Matching { baseline, candidate, pairs: &pairs, samples: &samples };
    let metrics = matching.metrics(options)?;
    let tested: Vec<Tested<'_>> = metrics.iter().filter_map(|found| matching.tested(*found, options)).collect();
    let p_values: Vec<Option<f64>> = tested.iter().map(|it| it.test.p()).collect();
    let adjusted = options.correction.adjust(&p_values);
    let levels = local_levels(&p_values, options.correction, options.level.alpha());
    let cost = matching.cost_per_sample();
    let decided = tested.iter().zip(&adjusted).zip(levels);
    let metrics = decided.filter_map(|((it, adjusted), alpha)| {
        let local = Level::from_alpha(alpha).unwrap_or(options.level);
        it.decided(*adjusted, local, cost, options)
    });
    let metrics: Vec<ComparedMetric> = metrics.collect();
    Ok(Compared {
        baseline: matching.summary(baseline, &samples.only_baseline),
        candidate: matching.summary(candidate, &samples.only_candidate),
        matched: samples.matched.len() as u64,
        level: options.level.get(),
        correction: match options.correction {
            StepRule::Alone => "none",
            StepRule::Holm => "holm",
            StepRule::BenjaminiHochberg => "bh",
        },
        family: p_values.iter().flatten().count() as u64,
        cost_per_sample_usd: cost,
        diagnostics: diagnostics::changes(baseline, candidate, options),
        warnings: matching.warnings(&tested),
        metrics,
    })
}

/// Samples by position on each side.
struct Samples {
    matched: Vec<(usize, usize)>,
    only_baseline: Vec<usize>,
    only_candidate: Vec<usize>,
}

impl Samples {
    fn of(baseline: &Findings, candidate: &Findings) -> Self {
        let mut there: BTreeMap<&str, usize> =
            (0..candidate.samples()).map(|at| (candidate.sample_id(at), at)).collect();
        let (mut matched, mut only_baseline) = (Vec::new(), Vec::new());
        for at in 0..baseline.samples() {
            match there.remove(baseline.sample_id(at)) {
                Some(other) => matched.push((at, other)),
                None => only_baseline.push(at),
            }
        }
        let mut only_candidate: Vec<usize> = there.into_values().collect();
        only_candidate.sort_unstable();
        Self { matched, only_baseline, only_candidate }
    }
}

/// A metric's place in both plans.
#[derive(Clone, Copy)]
struct Place<'a> {
    spec: &'a MetricSpec,
    baseline: usize,
    candidate: usize,
}

/// Everything that belongs together.
struct Matching<'a> {
    baseline: &'a Side<'a>,
    candidate: &'a Side<'a>,
    pairs: &'a [(usize, usize)],
    samples: &'a Samples,
}

impl<'a> Matching<'a> {
    /// The metrics that both sides have and that are asked for, in the candidate's order.
    fn metrics(&self, options: &Options) -> Result<Vec<Place<'a>>, CompareError> {
        let (then, now) = (&self.baseline.findings.plan, &self.candidate.findings.plan);
        let asked =
            |name: &str| options.metrics.is_empty() || options.metrics.iter().any(|it| crate::analyses::fits(it, name));
        let found = now
            .metrics
            .iter()
            .enumerate()
            .filter(|(_, spec)| asked(&spec.name))
            .filter_map(|(at, spec)| Some(Place { spec, baseline: then.metric(&spec.name)?, candidate: at }));
        let found: Vec<Place<'a>> = found.collect();
        let names = |specs: &[MetricSpec]| specs.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
        if found.is_empty() {
            return Err(CompareError::NoMetric {
                baseline: names(&then.metrics),
                candidate: names(&now.metrics),
                asked: if options.metrics.is_empty() { "every one".to_owned() } else { options.metrics.join(", ") },
            });
        }
        match options.margins.keys().find(|name| found.iter().all(|it| it.spec.name != **name)) {
            Some(metric) => Err(CompareError::UnknownMargin {
                metric: metric.clone(),
                known: found.iter().map(|it| it.spec.name.as_str()).collect::<Vec<_>>().join(", "),
            }),
            None => Ok(found),
        }
    }

    /// The paired scores of a metric, tested; `None` when no sample has both.
    fn tested(&self, place: Place<'a>, options: &Options) -> Option<Tested<'a>> {
        let (then, now) = (&self.baseline.findings.table, &self.candidate.findings.table);
        let mut scores = PairedScores::default();
        let mut left_out = 0;
        for (own, other) in &self.samples.matched {
            let both = self.pairs.iter().filter_map(|(from, to)| {
                Some((then.value(place.baseline, *own, *from)?, now.value(place.candidate, *other, *to)?))
            });
            let (mut sum, mut n) = ((0.0, 0.0), 0_u32);
            for (baseline, candidate) in both {
                sum = (sum.0 + baseline, sum.1 + candidate);
                n += 1;
            }
            if n > 0 {
                scores.push(sum.0 / f64::from(n), sum.1 / f64::from(n), then.cluster(*own));
            } else {
                left_out += u64::from(self.applies(place, *own, *other));
            }
        }
        let kind = kind(&self.candidate.findings.plan, place.spec);
        let test = scores.test(kind);
        (test.n() > 0).then(|| Tested {
            spec: place.spec,
            kind,
            test,
            left_out,
            clusters: scores.is_clustered().then(|| scores.n_clusters()),
            margin: options.margins.get(&place.spec.name).copied().or_else(|| self.declared_margin(place.spec)),
            scores,
        })
    }

    /// Whether a score was to be expected: an n/a on either side is none that is missing.
    fn applies(&self, place: Place<'_>, own: usize, other: usize) -> bool {
        let absent = |state: State| matches!(state, State::NotApplicable | State::Skipped);
        self.pairs.iter().any(|(from, to)| {
            !absent(self.baseline.findings.table.state(place.baseline, own, *from))
                && !absent(self.candidate.findings.table.state(place.candidate, other, *to))
        })
    }

    fn declared_margin(&self, spec: &MetricSpec) -> Option<f64> {
        self.candidate.findings.plan.scorers.get(spec.scorer)?.margin
    }

    /// Dollars of one more sample under both sides, at list price.
    fn cost_per_sample(&self) -> Option<f64> {
        let of = |side: &Side<'_>, system: usize| {
            let spend = &side.findings.systems.get(system)?.spend;
            let trials = f64::from(side.findings.plan.systems.get(system)?.trials);
            Some(trials * spend.per_cell_usd()?)
        };
        let each = self.pairs.iter().map(|(from, to)| Some(of(self.baseline, *from)? + of(self.candidate, *to)?));
        each.sum()
    }

    fn summary(&self, side: &Side<'_>, only: &[usize]) -> SideSummary {
        let own = |(from, to): &(usize, usize)| if std::ptr::eq(side, self.baseline) { *from } else { *to };
        SideSummary {
            label: side.label.clone(),
            systems: self.pairs.iter().map(|pair| system_id(&side.findings.plan, own(pair))).collect(),
            n_only: only.len() as u64,
            only: only.iter().take(KEPT).map(|at| side.findings.sample_id(*at).to_owned()).collect(),
        }
    }

    fn warnings(&self, tested: &[Tested<'_>]) -> Vec<String> {
        let (then, now) = (&self.baseline.findings.plan, &self.candidate.findings.plan);
        let mut warnings = Vec::new();
        if then.suite != now.suite {
            warnings.push(format!(
                "The suites differ: {} and {}. Metrics are matched by name only.",
                then.suite, now.suite
            ));
        }
        if then.dataset.hash != now.dataset.hash {
            warnings.push("The datasets differ: samples are matched by id, whose content may have changed.".to_owned());
        }
        if let Some(few) = tested.iter().filter_map(|it| it.clusters).min().filter(|it| *it < FEW_CLUSTERS) {
            warnings.push(format!(
                "The samples fall into {few} clusters: tests on fewer than {FEW_CLUSTERS} clusters need caution."
            ));
        }
        let lost = tested.iter().map(|it| it.left_out).max().unwrap_or_default();
        if lost > 0 {
            warnings.push(format!(
                "Samples left out because one side has no score: up to {lost} a metric. What fails on hard samples looks better than it is."
            ));
        }
        warnings
    }
}

/// What kind of numbers a metric gives: by its flag, else by the scale of the rubric's dimension.
fn kind(plan: &PlanHeader, metric: &MetricSpec) -> Kind {
    match scale(plan, metric) {
        _ if metric.binary => Kind::Binary,
        Some(_) => Kind::Ordinal,
        None => Kind::Score,
    }
}

/// The values that a metric can take, ascending, where its scale declares steps.
pub(crate) fn scale(plan: &PlanHeader, metric: &MetricSpec) -> Option<Vec<f64>> {
    if metric.binary {
        return Some(vec![0.0, 1.0]);
    }
    match dimension_scale(plan, metric)? {
        Scale::Choices(choices) => {
            let mut values: Vec<f64> = choices.iter().map(|(_, value)| *value).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            Some(values)
        }
        Scale::Range { lo, hi, step: Some(step) } if *step > 0.0 => {
            let steps = ((hi - lo) / step).round();
            (steps <= MOST_STEPS).then(|| (0..=steps as u32).map(|at| lo + f64::from(at) * step).collect())
        }
        Scale::Range { .. } => None,
    }
}

/// A metric after its test, before the correction over all.
struct Tested<'a> {
    spec: &'a MetricSpec,
    kind: Kind,
    scores: PairedScores,
    test: PairedTest,
    left_out: u64,
    clusters: Option<usize>,
    margin: Option<f64>,
}

impl Tested<'_> {
    fn decided(
        &self,
        p_adjusted: Option<f64>,
        local: Level,
        cost_per_sample: Option<f64>,
        options: &Options,
    ) -> Option<ComparedMetric> {
        let verdict = self.verdict(p_adjusted, local, options.level);
        let difference = Finding::point(self.test.mean()?, self.test.n(), self.test.test().as_str())?
            .with(self.test.interval(local), self.test.standard_error())
            .degenerate_if(self.test.is_degenerate());
        Some(ComparedMetric {
            metric: self.spec.name.clone(),
            kind: self.kind,
            better: self.spec.better,
            range: self.spec.range,
            baseline: self.figure(self.scores.baseline(), options.level)?,
            candidate: self.figure(self.scores.candidate(), options.level)?,
            difference,
            test: self.test.test().as_str(),
            p: self.test.p(),
            p_adjusted,
            beside: self.test.beside(local, options.seed),
            left_out: self.left_out,
            margin: self.margin,
            needed: self.needed(local, cost_per_sample).filter(|_| verdict == Verdict::Undecided),
            verdict,
            detectable: self.detectable(local),
        })
    }

    /// Decided by the corrected p-value; equivalence by the interval at 1 − 2α of the same test (TOST).
    fn verdict(&self, p_adjusted: Option<f64>, local: Level, level: Level) -> Verdict {
        let mean = self.test.mean().unwrap_or_default();
        if p_adjusted.is_some_and(|p| p <= level.alpha()) && mean.abs() > 0.0 {
            let up = (mean > 0.0) == (self.spec.better == Better::Higher);
            return if up { Verdict::Better } else { Verdict::Worse };
        }
        let narrow = Level::from_alpha(2.0 * local.alpha()).and_then(|level| self.test.interval(level));
        let within = |margin: f64| narrow.is_some_and(|it| it.lo > -margin && it.hi < margin);
        match self.margin {
            Some(margin) if within(margin) && !self.test.is_degenerate() => Verdict::Equivalent,
            _ => Verdict::Undecided,
        }
    }

    /// By the power of the paired t test at the margin, or else at the observed difference: to decide what is not
    /// decided takes more samples than there are.
    fn needed(&self, local: Level, cost_per_sample: Option<f64>) -> Option<Needed> {
        let difference = self.margin.unwrap_or(self.test.mean()?.abs());
        let deviation = self.test.planning_deviation().filter(|sd| *sd > 0.0 && difference > 0.0)?;
        let planned = paired_t_items(difference / deviation, PLANNED_POWER, local, Alternative::TwoSided)
            .or_else(|| items_for(deviation, difference, local, PLANNED_POWER))?;
        let present = self.test.n() as f64;
        let least = if self.margin.is_some() { 0.0 } else { present + 1.0 };
        let samples = planned.ceil().max(self.test.fewest(local)).max(least);
        let more = (samples - present).max(0.0);
        Some(Needed {
            difference,
            power: PLANNED_POWER,
            samples: samples as u64,
            more: more as u64,
            cost_usd: cost_per_sample.map(|cost| cost * more),
        })
    }

    fn detectable(&self, local: Level) -> Option<f64> {
        let n = self.test.n() as f64;
        let deviation = self.test.planning_deviation().filter(|sd| *sd > 0.0 && n >= self.test.fewest(local))?;
        Some(deviation * paired_t_effect(n, PLANNED_POWER, local, Alternative::TwoSided)?)
    }

    fn figure(&self, values: &[f64], level: Level) -> Option<Finding> {
        let observed = Observations {
            values: values.to_vec(),
            strata: vec![0; values.len()],
            clusters: self.scores.clusters().to_vec(),
            clustered: self.scores.is_clustered(),
            ..Observations::default()
        };
        estimate::figure(&observed, Aggregate::Mean, self.kind == Kind::Binary, level)
    }
}
