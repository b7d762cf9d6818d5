//! Reads the runs of a suite, and keeps one number for each item and system.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use karat_types::{Better, CellRow, Key, KeyBuilder, MetricSpec, PlanHeader, RunRows, SampleRecord, SampleText};

use super::ItemSystem;
use crate::AnalysisError;
use crate::compare::content::{ContentReader, Contents, differs};
use crate::figures::groups::system_id;
use crate::score::consensus::CellScores;
use crate::score::instrument::metric_names::primary_metric;
use crate::score::table::State;

/// The newest runs whose results decide that an item is saturated.
const SATURATION_RUNS: usize = 3;

/// Characters of a reference that evidence quotes.
const QUOTED: usize = 200;

/// A sum of squares with its degrees of freedom: the pooled variance within cells, in shares of the scale.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct PooledVariance {
    pub squares: f64,
    pub df: f64,
}

impl PooledVariance {
    /// Adds the squared deviations of values from their mean.
    fn add(&mut self, values: &[f64]) {
        let n = values.len() as f64;
        if values.len() > 1 {
            let mean = values.iter().sum::<f64>() / n;
            self.squares += values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            self.df += n - 1.0;
        }
    }

    pub(super) fn variance(&self) -> Option<f64> {
        (self.df > 0.0).then(|| self.squares / self.df)
    }
}

/// The place of a result: the run, and the cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResultPlace {
    pub run: usize,
    pub ordinal: u64,
}

/// The newest result of an item by a system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ItemResult {
    /// The score, trials averaged: from 0 (worst) to 1 (best) of the scale, or as it is where there is none.
    pub score: f64,
    pub place: ResultPlace,
    /// Number of the label that was found, for metrics that compare labels.
    pub label: Option<usize>,
}

/// The results of one run on an item.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RunResults {
    pub n: u64,
    pub lowest: f64,
    pub highest: f64,
}

impl RunResults {
    fn add(&mut self, other: Self) {
        self.n += other.n;
        self.lowest = self.lowest.min(other.lowest);
        self.highest = self.highest.max(other.highest);
    }
}

/// An item, over all runs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CollectedItem {
    pub id: String,
    /// The content that its newest run read.
    contents: Contents,
    /// The beginning of its reference, if it has one.
    pub reference: Option<String>,
    /// True if the newest run has it.
    pub is_in_newest: bool,
    /// By run that has scores of it, the newest first.
    pub by_run: Vec<RunResults>,
    /// Cells with an output, and those of them whose scorer failed.
    pub cells: u64,
    pub unscored: u64,
    pub trials: PooledVariance,
    pub judges: PooledVariance,
}

/// A system: its content, and its results by item.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CollectedSystem {
    name: String,
    content: Key,
    /// The newest run that has it.
    run: String,
    pub family: String,
    has_family: bool,
    pub results: Vec<Option<ItemResult>>,
}

/// The results of all runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Collected {
    pub suite: String,
    pub metric: String,
    pub scale: Option<(f64, f64)>,
    pub runs: Vec<String>,
    pub items: Vec<CollectedItem>,
    pub systems: Vec<CollectedSystem>,
    /// Names of labels by number.
    pub labels: Vec<String>,
    /// Paths of what is scored, by run.
    pub output_paths: Vec<String>,
    at: BTreeMap<String, usize>,
    label_at: BTreeMap<String, usize>,
    without_metric: Vec<String>,
    changed_cells: u64,
    changed_items: std::collections::BTreeSet<usize>,
}

/// Reads the runs, the newest first.
pub(super) fn collect(runs: &[&dyn RunRows], metric: Option<&str>) -> Result<Collected, AnalysisError> {
    let Some(newest) = runs.first() else { return Err(AnalysisError::NoRuns {}) };
    let plan = &newest.header().plan;
    let metric = match metric {
        Some(name) => name.to_owned(),
        None => {
            let named = primary_metric(plan).and_then(|at| plan.metrics.get(at));
            named.map(|metric| metric.name.clone()).ok_or_else(|| no_metric(runs, "a metric"))?
        }
    };
    let mut collected = Collected { suite: plan.suite.clone(), metric, ..Collected::default() };
    for (run, rows) in runs.iter().enumerate() {
        collected.add_run(run, *rows)?;
    }
    if collected.runs.is_empty() {
        return Err(no_metric(runs, &format!("the metric `{}`", collected.metric)));
    }
    Ok(collected)
}

fn no_metric(runs: &[&dyn RunRows], what: &str) -> AnalysisError {
    let plans = runs.iter().flat_map(|run| &run.header().plan.metrics);
    let mut known: Vec<&str> = plans.map(|metric| metric.name.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    AnalysisError::NoItemMetric { wanted: what.to_owned(), known: known.join(", ") }
}

/// The scale of a metric.
pub(super) fn scale_of(metric: &MetricSpec) -> Option<(f64, f64)> {
    let verdict = (metric.binary || metric.verdicts).then_some((0.0, 1.0));
    metric.range.or(verdict).filter(|(lo, hi)| hi > lo)
}

/// A score as a share of the scale, 1 the best; as it is without a scale, higher the better.
fn share(metric: &MetricSpec, value: f64) -> f64 {
    let is_lower_better = metric.better == Better::Lower;
    match scale_of(metric) {
        Some((lo, hi)) => {
            let share = ((value - lo) / (hi - lo)).clamp(0.0, 1.0);
            if is_lower_better { 1.0 - share } else { share }
        }
        None if is_lower_better => -value,
        None => value,
    }
}

/// The cells of one sample and system of a run.
#[derive(Default)]
struct OpenResult {
    item: usize,
    system: usize,
    scores: Vec<f64>,
    place: Option<ResultPlace>,
    label: Option<usize>,
    judges: PooledVariance,
}

/// A run while it is read.
struct RunReader<'a> {
    run: usize,
    plan: &'a PlanHeader,
    metric: usize,
    spec: &'a MetricSpec,
    /// By system of the run: its number over all runs.
    systems: Vec<usize>,
    contents: ContentReader,
    open: Option<OpenResult>,
    /// Row and item of the sample that is read; no item where its content is another one.
    sample: Option<(u64, Option<usize>)>,
    /// True if the sample has a score in this run already.
    has_results: bool,
}

impl Collected {
    fn add_run(&mut self, run: usize, rows: &dyn RunRows) -> Result<(), AnalysisError> {
        let header = rows.header();
        let plan = &header.plan;
        let path = |metric: &MetricSpec| plan.scorers.get(metric.scorer).map(|scorer| scorer.output.clone());
        let found = plan.metric(&self.metric).and_then(|at| Some((at, plan.metrics.get(at)?)));
        self.output_paths.push(found.and_then(|(_, spec)| path(spec)).unwrap_or_default());
        let Some((metric, spec)) = found else {
            self.without_metric.push(header.id.clone());
            return Ok(());
        };
        if self.runs.is_empty() {
            self.scale = scale_of(spec);
        } else if self.scale.is_some() != scale_of(spec).is_some() {
            self.without_metric.push(header.id.clone());
            return Ok(());
        }
        let is_newest = self.runs.is_empty();
        self.runs.push(header.id.clone());
        let systems = (0..plan.systems.len()).map(|at| self.system(plan, at, &header.id)).collect();
        let contents = ContentReader::of(rows);
        let mut reader =
            RunReader { run, plan, metric, spec, systems, contents, open: None, sample: None, has_results: false };
        let read = rows.for_each(&mut |row| {
            self.add_cell(&mut reader, &row, is_newest);
            ControlFlow::Continue(())
        });
        self.close(&mut reader);
        read.map_err(|source| AnalysisError::Rows { run: header.id.clone(), source })
    }

    /// The number of a system of a run: the same for the same content.
    fn system(&mut self, plan: &PlanHeader, at: usize, run: &str) -> usize {
        let model = plan.system_model(at);
        let variant = plan.systems.get(at).and_then(|it| plan.variants.get(it.variant));
        let key = KeyBuilder::new("karat/item-system/1").text(model.map_or("", |model| model.id.as_str()));
        let key = match model {
            Some(model) => key.json(&model.identity()),
            None => key,
        };
        let content = key.json(&variant).finish();
        if let Some(known) = self.systems.iter().position(|it| it.content == content) {
            return known;
        }
        let name = system_id(plan, at);
        let declared = model.and_then(|model| model.family.clone());
        let own = || model.map_or_else(|| plan.system_variant(at).to_owned(), |model| model.id.clone());
        self.systems.push(CollectedSystem {
            name,
            content,
            run: run.to_owned(),
            has_family: declared.is_some(),
            family: declared.unwrap_or_else(own),
            results: Vec::new(),
        });
        self.systems.len() - 1
    }

    fn add_cell(&mut self, reader: &mut RunReader<'_>, row: &CellRow<'_>, is_newest: bool) {
        if reader.sample.is_none_or(|(number, _)| number != row.sample.row) {
            self.close(reader);
            let contents = reader.contents.contents(row.sample);
            reader.sample = Some((row.sample.row, self.item(row.sample, contents, is_newest)));
            reader.has_results = false;
        }
        let Some((_, Some(item))) = reader.sample else {
            self.changed_cells += 1;
            return;
        };
        let Some(system) = reader.systems.get(row.system).copied() else { return };
        if reader.open.as_ref().is_some_and(|open| open.system != system) {
            self.close(reader);
        }
        let scores = CellScores::of(reader.plan, row);
        let score = scores.scores.get(reader.metric).and_then(Option::as_ref);
        let state = State::of(row, score);
        if let (Some(it), State::Value | State::Unscored) = (self.items.get_mut(item), state) {
            it.cells += 1;
            it.unscored += u64::from(state == State::Unscored);
        }
        let (State::Value, Some(score)) = (state, score) else { return };
        let Some(number) = score.number() else { return };
        let label = score.labels().map(|(expected, found)| (self.label(&expected), self.label(&found)));
        if let (Some((expected, _)), Some(it)) = (label, self.items.get_mut(item)) {
            it.reference.get_or_insert_with(|| self.labels.get(expected).cloned().unwrap_or_default());
        }
        let open = reader.open.get_or_insert_with(|| OpenResult { item, system, ..OpenResult::default() });
        open.scores.push(share(reader.spec, number));
        open.place.get_or_insert(ResultPlace { run: reader.run, ordinal: row.cell.ordinal });
        if let Some((_, found)) = label {
            open.label.get_or_insert(found);
        }
        if let (Some(merged), Some((lo, hi))) =
            (scores.consensus.get(reader.metric).cloned().flatten(), scale_of(reader.spec))
            && merged.judges > 1
        {
            open.judges.squares += merged.variance * f64::from(merged.judges) / (hi - lo).powi(2);
            open.judges.df += f64::from(merged.judges) - 1.0;
        }
    }

    /// The number of an item; `None` if its content is another one than in a newer run.
    fn item(&mut self, sample: &SampleRecord, contents: Contents, is_newest: bool) -> Option<usize> {
        let Some(at) = self.at.get(&sample.id).copied() else {
            let reference = sample.texts.iter().find(|text| text.name == SampleText::REFERENCE);
            self.at.insert(sample.id.clone(), self.items.len());
            self.items.push(CollectedItem {
                id: sample.id.clone(),
                contents,
                reference: reference.map(|text| text.text.chars().take(QUOTED).collect()),
                is_in_newest: is_newest,
                by_run: Vec::new(),
                cells: 0,
                unscored: 0,
                trials: PooledVariance::default(),
                judges: PooledVariance::default(),
            });
            return Some(self.items.len() - 1);
        };
        let item = self.items.get_mut(at)?;
        if differs(&item.contents, &contents) {
            self.changed_items.insert(at);
            return None;
        }
        Some(at)
    }

    fn label(&mut self, name: &str) -> usize {
        if let Some(known) = self.label_at.get(name) {
            return *known;
        }
        self.label_at.insert(name.to_owned(), self.labels.len());
        self.labels.push(name.to_owned());
        self.labels.len() - 1
    }

    /// Adds the cells of a sample and system that were read.
    fn close(&mut self, reader: &mut RunReader<'_>) {
        let Some(open) = reader.open.take() else { return };
        let (Some(item), Some(system)) = (self.items.get_mut(open.item), self.systems.get_mut(open.system)) else {
            return;
        };
        let n = open.scores.len();
        let score = open.scores.iter().sum::<f64>() / n as f64;
        let Some(place) = open.place else { return };
        let lowest = open.scores.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = open.scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let results = RunResults { n: n as u64, lowest, highest };
        match item.by_run.last_mut().filter(|_| reader.has_results) {
            Some(known) => known.add(results),
            None => item.by_run.push(results),
        }
        reader.has_results = true;
        if system.results.len() <= open.item {
            system.results.resize(open.item + 1, None);
        }
        if let Some(slot @ None) = system.results.get_mut(open.item) {
            *slot = Some(ItemResult { score, place, label: open.label });
            item.trials.add(&open.scores);
            item.judges.squares += open.judges.squares;
            item.judges.df += open.judges.df;
        }
    }

    /// The newest result of an item by a system.
    pub(super) fn result(&self, item: usize, system: usize) -> Option<ItemResult> {
        self.systems.get(system)?.results.get(item).copied().flatten()
    }

    /// The scores of an item, by system.
    pub(super) fn scores(&self, item: usize) -> Vec<Option<f64>> {
        (0..self.systems.len()).map(|system| self.result(item, system).map(|result| result.score)).collect()
    }

    /// The systems as they are shown.
    pub(super) fn shown_systems(&self) -> Vec<ItemSystem> {
        let shown = |system: &CollectedSystem| {
            let is_alone = self.systems.iter().filter(|other| other.name == system.name).count() == 1;
            let id = if is_alone { system.name.clone() } else { format!("{} of run {}", system.name, system.run) };
            ItemSystem {
                id,
                family: system.family.clone(),
                has_family: system.has_family,
                items: system.results.iter().flatten().count() as u64,
            }
        };
        self.systems.iter().map(shown).collect()
    }

    /// The results that the figures do not cover.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.without_metric.is_empty() {
            notes.push(format!(
                "Runs without the metric {}, or with another scale of it, are left out: {}.",
                self.metric,
                self.without_metric.join(", ")
            ));
        }
        if self.changed_cells > 0 {
            notes.push(format!(
                "Results of items whose input or reference was another one are left out: {} of {}. Items change with a new \
                 version of the dataset.",
                count(self.changed_cells, "cell"),
                count(self.changed_items.len() as u64, "item"),
            ));
        }
        let gone = self.items.iter().filter(|item| !item.is_in_newest).count();
        if gone > 0 {
            notes.push(format!("Items that the newest run does not have: {gone}."));
        }
        if self.scale.is_none() {
            notes.push(format!(
                "The metric {} has no range, so items have no difficulty and are neither saturated nor never solved.",
                self.metric
            ));
        }
        let unknown = self.systems.iter().filter(|system| !system.has_family).count();
        if unknown > 0 {
            notes.push(format!(
                "Systems whose model declares no `family`: {unknown}. Each of their models counts as a family of its own."
            ));
        }
        notes
    }
}

/// A count with its noun.
pub(super) fn count(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// The results of the newest runs, as many as decide that an item is saturated.
pub(super) fn newest(by_run: &[RunResults]) -> &[RunResults] {
    by_run.get(..SATURATION_RUNS.min(by_run.len())).unwrap_or_default()
}
