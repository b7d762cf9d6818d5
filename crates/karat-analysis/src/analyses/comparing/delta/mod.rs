//! `delta`: changes between a base variant (or model) and the others, on matched (sample, model) pairs, judge by judge:
//! per dimension, and in the texts of the diagnostics.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use karat_stats::bootstrap::Resampling;
use karat_stats::describe::mean;
use karat_stats::numeric::seed::Seed;
use karat_types::{AnalysisSpec, Better, CellStatus, PlanHeader, ScorerKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::AnalysisError;
use crate::analyses::{Analysis, FinishContext, Outcome, ScoredCell, excerpt, options, options_error};
use crate::figures::contrast::{ComparisonVerdict, DeltaAxis};
use crate::figures::groups::system_id;
use crate::infer::change::{Kind, PairedScores};
use crate::infer::finding::Finding;
use crate::infer::pairs::{PairedFigures, resampling};
use crate::reference::pinned::Pinned;
use crate::score::consensus::{item_text, statement_key};
use crate::score::observations::{Aggregate, FigureValue, RESAMPLED_UP_TO};
use crate::score::reduce::Reduce;

/// Name of the base of a delta to pinned results.
const BASELINE: &str = "baseline";

/// Number of changed texts kept of each kind; all are counted.
const KEPT: usize = 50;

/// The threshold of a notable change.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum NotableLimit {
    /// For every metric.
    Any(#[serde(deserialize_with = "karat_types::json::float")] f64),
    /// By metric.
    By(BTreeMap<String, f64>),
}

impl NotableLimit {
    fn of(&self, metric: &str) -> Option<f64> {
        match self {
            Self::Any(limit) => Some(*limit),
            Self::By(limits) => limits.get(metric).copied(),
        }
    }
}

/// Options of `delta`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeltaOptions {
    /// The compared axis.
    pub over: DeltaAxis,
    /// The variant (or model) that the others are compared with; default: the first.
    pub base: Option<String>,
    /// Diagnostics whose texts are compared; default: all lists of the rubrics.
    pub diagnostics: Option<Vec<String>>,
    /// List samples whose score changed by at least this much, in the metric's own unit: one number, or one per metric.
    pub notable: Option<NotableLimit>,
}

/// A metric's change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricDelta {
    /// The metric.
    pub metric: String,
    /// The verdict and the corrected p-value of its contrast, within a run.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub decided: Option<DecidedDelta>,
    /// The metric's aggregate of the other minus that of the base over matched pairs, with trials reduced by the
    /// scorer's rule; for means the mean change. `n` counts the pairs. The judges of a pair are averaged first.
    pub delta: Finding,
}

/// The decision on a change within a run: that of its contrast.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DecidedDelta {
    /// The p-value corrected over the contrast's family.
    pub p_adjusted: Option<f64>,
    /// The verdict on the other.
    pub verdict: ComparisonVerdict,
}

impl MetricDelta {
    /// The verdict of the contrast; since a baseline, what the interval says.
    pub fn verdict(&self, better: Better) -> ComparisonVerdict {
        match (self.decided, self.delta.sign().map(|above| above == (better == Better::Higher))) {
            (Some(decided), _) => decided.verdict,
            (None, Some(true)) => ComparisonVerdict::Better,
            (None, Some(false)) => ComparisonVerdict::Worse,
            (None, None) => ComparisonVerdict::Undecided,
        }
    }
}

/// A text that only one side has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TextChange {
    /// The sample.
    pub sample: String,
    /// The text.
    pub text: String,
    /// Number of matched pairs.
    pub times: u64,
}

/// Changes in the texts of one diagnostic; equal texts of a sample count once.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct TextDelta {
    /// The diagnostic.
    pub name: String,
    /// Number of texts of the base, over all matched pairs.
    pub base: u64,
    /// Number of texts of the other.
    pub other: u64,
    /// Number of distinct texts that appeared.
    pub n_appeared: u64,
    /// Number of distinct texts that disappeared.
    pub n_disappeared: u64,
    /// The first of those that appeared.
    pub appeared: Vec<TextChange>,
    /// The first of those that disappeared.
    pub disappeared: Vec<TextChange>,
}

/// A sample with a notable change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SampleMove {
    /// The sample.
    pub sample: String,
    /// The metric.
    pub metric: String,
    /// Mean change over its matched pairs.
    pub delta: Finding,
}

/// The base compared with one other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The other variant (model).
    pub id: String,
    /// Pairs of cells (sample × model, or × variant) that both have.
    pub matched: u64,
    /// Pairs with a score on one side only.
    pub unmatched: u64,
    /// Changes by metric; metrics that depend on time or price are left out.
    pub metrics: Vec<MetricDelta>,
    /// Changes in texts.
    pub texts: Vec<TextDelta>,
    /// Samples with a notable change, largest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub movers: Vec<SampleMove>,
}

/// The changes against a base.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Delta {
    /// The compared axis.
    pub over: DeltaAxis,
    /// The base.
    pub base: String,
    /// Each other variant (model), in plan order.
    pub comparisons: Vec<Comparison>,
}

impl Delta {
    /// Returns true if the base and one of the others have a common score.
    pub fn has_matches(&self) -> bool {
        self.comparisons.iter().any(|comparison| comparison.matched > 0)
    }
}

/// Metric and judge; no judge for deterministic metrics.
type GradeKey = (usize, Option<u16>);

/// One grade with its metric and judge.
type GradedScore = (usize, Option<u16>, Option<f64>);

/// The results of one system on the current sample.
#[derive(Default, Clone)]
struct SystemSample {
    /// By grade and trial.
    grades: BTreeMap<GradeKey, BTreeMap<u32, f64>>,
    /// By diagnostic: folded text to text.
    texts: BTreeMap<String, BTreeMap<String, String>>,
}

/// A matched pair of scores of one metric.
#[derive(Debug, Clone, Copy)]
struct ScoreChange {
    sample: usize,
    before: f64,
    after: f64,
    /// The change as it enters the figure.
    for_figure: FigureValue,
    /// The base's system; `None` for pinned results.
    base: Option<usize>,
    other: usize,
}

impl ScoreChange {
    fn size(&self) -> f64 {
        self.after - self.before
    }
}

/// A comparison in progress: pairs of (base, other) systems.
struct TrackedComparison {
    id: String,
    pairs: Vec<(usize, usize)>,
    matched: u64,
    unmatched: u64,
    /// By metric.
    changes: BTreeMap<usize, Vec<ScoreChange>>,
    texts: BTreeMap<String, TextDelta>,
}

struct DeltaFold {
    plan: Arc<PlanHeader>,
    /// The reduction rule of each metric.
    rules: Vec<Reduce>,
    over: DeltaAxis,
    base: String,
    names: Vec<String>,
    notable: Option<NotableLimit>,
    tracked: Vec<TrackedComparison>,
    sides: Vec<SystemSample>,
    sample: Option<(usize, String)>,
}

/// The index of the base by id; for a swept variant, the first one of the sweep.
fn base_index(ids: &[String], base: &str) -> Option<usize> {
    let of_sweep = |id: &String| id.strip_prefix(base).is_some_and(|rest| rest.starts_with('{'));
    ids.iter().position(|id| id == base).or_else(|| ids.iter().position(of_sweep))
}

pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    plan: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    let options: DeltaOptions = options(spec)?;
    if let Some(NotableLimit::By(limits)) = &options.notable
        && let Some(unknown) = limits.keys().find(|name| plan.metric(name).is_none())
    {
        return Err(options_error(spec, format!("notable: {unknown:?} is not a metric of this suite")));
    }
    let ids = axis(plan, options.over);
    let base = match options.base {
        Some(base) => base_index(&ids, &base).ok_or_else(|| {
            options_error(spec, format!("base: {base:?} is not part of this run, which has {}", ids.join(", ")))
        })?,
        None => 0,
    };
    let Some(base_id) = ids.get(base).cloned() else { return Ok(None) };
    let others = (0..ids.len()).filter(|other| *other != base);
    let tracked = others.map(|other| TrackedComparison {
        id: ids.get(other).cloned().unwrap_or_default(),
        pairs: pairs(plan, options.over, base, other),
        matched: 0,
        unmatched: 0,
        changes: BTreeMap::new(),
        texts: BTreeMap::new(),
    });
    Ok(Some(Box::new(DeltaFold {
        tracked: tracked.filter(|it| !it.pairs.is_empty()).collect(),
        rules: plan.metrics.iter().map(|it| Reduce::of_metric(plan, it).unwrap_or(Reduce::Mean)).collect(),
        plan: plan.clone(),
        over: options.over,
        base: base_id,
        names: options.diagnostics.unwrap_or_else(|| diagnostics(plan)),
        notable: options.notable,
        sides: vec![SystemSample::default(); plan.systems.len()],
        sample: None,
    })))
}

/// Ids along the compared axis, in plan order.
fn axis(plan: &PlanHeader, over: DeltaAxis) -> Vec<String> {
    match over {
        DeltaAxis::Variant => plan.variants.iter().map(|variant| variant.id.clone()).collect(),
        DeltaAxis::Model => plan.models.iter().map(|model| model.id.clone()).collect(),
        DeltaAxis::Baseline => vec![BASELINE.to_owned()],
    }
}

/// Systems that differ along the compared axis only.
fn pairs(plan: &PlanHeader, over: DeltaAxis, base: usize, other: usize) -> Vec<(usize, usize)> {
    let split = |at: usize| {
        plan.systems.get(at).map(|system| match over {
            DeltaAxis::Variant => (Some(system.variant), system.model),
            DeltaAxis::Model => (system.model, Some(system.variant)),
            DeltaAxis::Baseline => (None, None),
        })
    };
    let of = |wanted: usize| (0..plan.systems.len()).filter(move |at| split(*at).and_then(|it| it.0) == Some(wanted));
    let partner = |from: usize| of(other).find(|to| split(*to).map(|it| it.1) == split(from).map(|it| it.1));
    of(base).filter_map(|from| Some((from, partner(from)?))).collect()
}

fn diagnostics(plan: &PlanHeader) -> Vec<String> {
    let rubrics = plan.scorers.iter().filter_map(|scorer| match &scorer.kind {
        ScorerKind::Rubric(rubric) => Some(&rubric.rubric),
        ScorerKind::Metric { .. } => None,
    });
    let names: BTreeSet<String> = rubrics.flat_map(|it| it.diagnostics.iter().map(|it| it.name.clone())).collect();
    names.into_iter().collect()
}

impl DeltaFold {
    fn read(&mut self, cell: &ScoredCell<'_>) {
        let Some(side) = self.sides.get_mut(cell.row.system) else { return };
        let steady = |metric: usize| self.plan.metrics.get(metric).is_some_and(|it| !it.volatile);
        let shares = cell.row.shares;
        let of_games = shares.iter().map(|it| (usize::from(it.metric), Some(it.judge), Some(it.won / it.games)));
        let judged = cell.row.judgments.iter().flat_map(|judgment| {
            judgment.scores.iter().map(|(metric, score)| (usize::from(*metric), Some(judgment.judge), score.number()))
        });
        // In a tournament a judgment holds a part of the cell's games.
        let is_whole = |(metric, ..): &GradedScore| !shares.iter().any(|it| usize::from(it.metric) == *metric);
        let judged = judged.filter(is_whole).chain(of_games);
        // A bound applies to the merged grade, not to each judge's.
        let bounded = |metric: usize| self.plan.metrics.get(metric).is_some_and(|it| it.bound.is_some());
        let judged: Vec<GradedScore> = judged.filter(|(metric, ..)| !bounded(*metric)).collect();
        let by_judges = |metric: usize| judged.iter().any(|(graded, ..)| *graded == metric);
        let own = (0..self.plan.metrics.len()).map(|metric| (metric, None, cell.scores.number(metric)));
        let own = own.filter(|(metric, ..)| !by_judges(*metric));
        for (metric, judge, value) in own.chain(judged.iter().copied()).filter(|(metric, ..)| steady(*metric)) {
            side.grades.entry((metric, judge)).or_default().extend(value.map(|value| (cell.row.trial, value)));
        }
        for (name, items) in cell.row.judgments.iter().flat_map(|it| &it.diagnostics) {
            if let (true, Value::Array(items)) = (self.names.contains(name), items) {
                let texts = side.texts.entry(name.clone()).or_default();
                texts.extend(items.iter().map(item_text).map(|text| (statement_key(&text), text)));
            }
        }
    }

    fn flush(&mut self) {
        let Some((sample, id)) = self.sample.take() else { return };
        for tracked in &mut self.tracked {
            tracked.compare(&self.sides, (&self.plan, &self.rules), &self.names, (sample, &id));
        }
        self.sides.iter_mut().for_each(|side| *side = SystemSample::default());
    }
}

impl TrackedComparison {
    fn compare(
        &mut self,
        sides: &[SystemSample],
        (plan, rules): (&PlanHeader, &[Reduce]),
        names: &[String],
        (sample, id): (usize, &str),
    ) {
        let trials = |system: usize| plan.systems.get(system).map_or(1, |it| it.trials as usize);
        let empty = BTreeMap::new();
        let mut changed: BTreeMap<(&str, bool, &str), (&str, u64)> = BTreeMap::new();
        for (from, to) in &self.pairs {
            let (Some(base), Some(other)) = (sides.get(*from), sides.get(*to)) else { continue };
            let changes = matched_changes([base, other], rules, [trials(*from), trials(*to)]);
            let common = !changes.is_empty();
            for (metric, (before, after)) in changes {
                let for_figure = (after - before).into();
                let change = ScoreChange { sample, before, after, for_figure, base: Some(*from), other: *to };
                self.changes.entry(metric).or_default().push(change);
            }
            self.matched += u64::from(common);
            self.unmatched += u64::from(!common && (!base.grades.is_empty() || !other.grades.is_empty()));
            if !common {
                continue;
            }
            for name in names {
                let before = base.texts.get(name).unwrap_or(&empty);
                let after = other.texts.get(name).unwrap_or(&empty);
                let entry = self.texts.entry(name.clone()).or_default();
                entry.base += before.len() as u64;
                entry.other += after.len() as u64;
                let news = after.iter().filter(|(key, _)| !before.contains_key(*key)).map(|it| (true, it));
                let gone = before.iter().filter(|(key, _)| !after.contains_key(*key)).map(|it| (false, it));
                for (appeared, (key, text)) in news.chain(gone) {
                    changed.entry((name, appeared, key)).or_insert((text, 0)).1 += 1;
                }
            }
        }
        for ((name, appeared, _), (text, times)) in changed {
            let Some(entry) = self.texts.get_mut(name) else { continue };
            let (list, count) = if appeared {
                (&mut entry.appeared, &mut entry.n_appeared)
            } else {
                (&mut entry.disappeared, &mut entry.n_disappeared)
            };
            *count += 1;
            if list.len() < KEPT {
                list.push(TextChange { sample: id.to_owned(), text: excerpt(text, 300), times });
            }
        }
    }

    fn finish(self, names: &[String], notable: Option<&NotableLimit>, context: &FinishContext<'_>) -> Comparison {
        let (metrics, movers) = figures(&self.changes, notable, context);
        let mut texts = self.texts;
        let texts = names.iter().filter_map(|name| Some(TextDelta { name: name.clone(), ..texts.remove(name)? }));
        Comparison {
            id: self.id,
            matched: self.matched,
            unmatched: self.unmatched,
            metrics,
            texts: texts.collect(),
            movers,
        }
    }
}

/// Compares each system with its pinned results, sample by sample.
fn compare_with_baseline(
    pinned: &Pinned,
    notable: Option<&NotableLimit>,
    context: &FinishContext<'_>,
) -> Vec<Comparison> {
    let compared = |system: usize| {
        let id = system_id(context.plan, system);
        let then = pinned.system(&id)?;
        let mut changes: BTreeMap<usize, Vec<ScoreChange>> = BTreeMap::new();
        let (mut matched, mut unmatched) = (0, 0);
        for sample in 0..context.table.samples() {
            let steady = context.plan.metrics.iter().enumerate().filter(|(_, metric)| !metric.volatile);
            let both = steady.filter_map(|(at, metric)| {
                let before = pinned.value(then, &metric.name, context.table.sample_id(sample))?;
                let after = context.table.shown_value(at, sample, system)?;
                let for_figure = (context.table.figure_value(at, sample, system)?.for_sums() - before).into();
                Some((at, ScoreChange { sample, before, after, for_figure, base: None, other: system }))
            });
            let both: Vec<(usize, ScoreChange)> = both.collect();
            matched += u64::from(!both.is_empty());
            unmatched += u64::from(both.is_empty());
            both.into_iter().for_each(|(metric, change)| changes.entry(metric).or_default().push(change));
        }
        let (metrics, movers) = figures(&changes, notable, context);
        Some(Comparison { id, matched, unmatched, metrics, texts: Vec::new(), movers })
    };
    (0..context.plan.systems.len()).filter_map(compared).collect()
}

/// The figures of the changes by metric, and the samples with a notable change.
fn figures(
    all: &BTreeMap<usize, Vec<ScoreChange>>,
    notable: Option<&NotableLimit>,
    context: &FinishContext<'_>,
) -> (Vec<MetricDelta>, Vec<SampleMove>) {
    let named = |metric: usize| context.plan.metrics.get(metric).map_or_else(String::new, |it| it.name.clone());
    let mut movers = Vec::new();
    let mut metrics = Vec::new();
    for (metric, changes) in all {
        let metric = *metric;
        metrics.extend(figure(metric, changes, context).map(|delta| MetricDelta {
            metric: named(metric),
            decided: None,
            delta,
        }));
        let limit = notable.and_then(|notable| notable.of(&named(metric)));
        movers.extend(limit.into_iter().flat_map(|limit| notable_samples(changes, limit)).map(|(sample, delta)| {
            SampleMove { sample: context.table.sample_id(sample).to_owned(), metric: named(metric), delta }
        }));
    }
    let size = |mover: &SampleMove| mover.delta.value().abs();
    movers.sort_by(|a, b| size(b).total_cmp(&size(a)));
    movers.truncate(KEPT);
    (metrics, movers)
}

/// The change of a metric's figure, computed as in `compare`, at the level of this metric alone. Above
/// [`RESAMPLED_UP_TO`] pairs nothing is bootstrapped unless requested.
fn figure(metric: usize, changes: &[ScoreChange], context: &FinishContext<'_>) -> Option<Finding> {
    let measure = context.measures.get(metric)?;
    let table = context.table;
    if measure.aggregate == Aggregate::Mean {
        let mut scores = PairedScores::within(measure.max_change()).with_design(table.observations(metric).design);
        for it in changes {
            let after = it.before + it.for_figure.for_sums();
            scores.push_pair([it.before, after], (it.sample, it.other), table.cluster(it.sample));
        }
        return scores.test(Kind::of(measure.binary)).finding(measure.level);
    }
    let empty = || table.observations(metric);
    let mut paired = PairedFigures::within(measure.max_change(), empty(), empty());
    for change in changes {
        let of = |system: usize| table.labels(metric, change.sample, system);
        let labels = change.base.and_then(of).zip(of(change.other)).map(<[_; 2]>::from);
        if measure.aggregate.uses_labels() && labels.is_none() {
            return None;
        }
        let place = (change.sample, change.other);
        paired.push_pair([change.before, change.after], labels, place, table.cluster(change.sample));
    }
    let unasked = context.plan.statistics.resamples.is_none() && changes.len() > RESAMPLED_UP_TO;
    let how = resampling(context.plan, Seed(1));
    let how = if unasked { Resampling { resamples: 0, ..how } } else { how };
    paired.test(Kind::Score, measure.aggregate, &how).finding(measure.level)
}

/// The scores of each metric before and after, averaged over the judges of both sides. With as many trials on both sides,
/// those of only one side are left out, except where passes of k trials are counted.
fn matched_changes(
    [base, other]: [&SystemSample; 2],
    rules: &[Reduce],
    trials: [usize; 2],
) -> BTreeMap<usize, (f64, f64)> {
    let mut by_metric: BTreeMap<usize, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for (grade, before) in &base.grades {
        let (Some(after), Some(rule)) = (other.grades.get(grade), rules.get(grade.0)) else { continue };
        let by_trial = trials[0] == trials[1] && !rule.counts_passes();
        let reduced = |own: &BTreeMap<u32, f64>, others: &BTreeMap<u32, f64>, planned: usize| {
            let shared = own.iter().filter(|(trial, _)| !by_trial || others.contains_key(trial));
            let values: Vec<f64> = shared.map(|(_, value)| *value).collect();
            rule.of_known(&values, planned.saturating_sub(values.len()))
        };
        if let (Some(before), Some(after)) = (reduced(before, after, trials[0]), reduced(after, before, trials[1])) {
            let both = by_metric.entry(grade.0).or_default();
            both.0.push(before);
            both.1.push(after);
        }
    }
    let averaged =
        |(metric, (before, after)): (usize, (Vec<f64>, Vec<f64>))| Some((metric, (mean(&before)?, mean(&after)?)));
    by_metric.into_iter().filter_map(averaged).collect()
}

/// Samples with a mean change of at least `limit`.
fn notable_samples(changes: &[ScoreChange], limit: f64) -> Vec<(usize, Finding)> {
    let of_sample = |chunk: &[ScoreChange]| {
        let values: Vec<f64> = chunk.iter().map(ScoreChange::size).collect();
        Some((chunk.first()?.sample, Finding::point(mean(&values)?, values.len(), "mean")?))
    };
    let found = changes.chunk_by(|a, b| a.sample == b.sample).filter_map(of_sample);
    found.filter(|(_, delta)| delta.value().abs() >= limit).collect()
}

impl Analysis for DeltaFold {
    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        if self.sample.as_ref().is_none_or(|(sample, _)| *sample != cell.sample) {
            self.flush();
            self.sample = Some((cell.sample, cell.row.sample.id.clone()));
        }
        if cell.row.cell.status == CellStatus::Ok {
            self.read(cell);
        }
    }

    fn finish(mut self: Box<Self>, context: &FinishContext<'_>) -> Outcome {
        self.flush();
        let (names, notable) = (self.names, self.notable.as_ref());
        let comparisons = match (self.over, context.baseline) {
            (DeltaAxis::Baseline, Some(pinned)) => compare_with_baseline(pinned, notable, context),
            _ => self.tracked.into_iter().map(|it| it.finish(&names, notable, context)).collect(),
        };
        Outcome::Delta(Delta { over: self.over, base: self.base, comparisons })
    }
}

#[cfg(test)]
mod tests;
