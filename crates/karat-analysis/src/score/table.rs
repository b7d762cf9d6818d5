//! The scores of a run in memory: one number per metric, sample and system, with trials reduced, and each trial if
//! there are several, so that two systems can be compared on the cells that both have. Nine bytes each; the rest of a
//! row is not kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_types::{CellRow, CellStatus, DatasetDesign, MetricSpec, PlanHeader, SampleRecord, Score, ScorerKind};

use crate::AnalysisError;
use crate::score::cascade::{MetricCascade, ObservedCascade, PlacedCell};
use crate::score::classification::LabelFigure;
use crate::score::consensus::{CellScores, grades_of, has_several_judges};
use crate::score::judged::{JudgeSums, JudgedColumn, JudgedEntry};
use crate::score::observations::{FigureValue, Observations, SampleDesign};
use crate::score::reduce::Reduce;

/// The state of a sample × system: the reason why it has no value, or that it has one. Ordered by precedence when
/// trials differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    /// No row: the run is incomplete, or no judge has graded the cell yet.
    Absent,
    /// A condition skipped the cell.
    Skipped,
    /// The metric does not apply.
    NotApplicable,
    /// The cell has no output.
    Error,
    /// The scorer failed.
    Unscored,
    /// The entry has a value.
    Value,
}

impl State {
    /// Returns true if something failed, so that the best and worst case of a figure differ.
    pub(crate) fn is_failure(self) -> bool {
        matches!(self, Self::Error | Self::Unscored)
    }

    /// The state of one cell in one metric.
    pub(crate) fn of(row: &CellRow<'_>, score: Option<&Score>) -> Self {
        let stopped = row.cell.error.as_ref().is_some_and(karat_types::CellError::is_stop);
        match (row.cell.status, score) {
            (CellStatus::Error, _) if stopped => Self::Absent,
            // The row alone says so: an output would have had no score either.
            (CellStatus::Error, Some(Score::NotApplicable { .. })) => Self::NotApplicable,
            (CellStatus::Error, _) => Self::Error,
            (CellStatus::Skipped, _) => Self::Skipped,
            (CellStatus::Ok, Some(Score::Value { .. })) => Self::Value,
            (CellStatus::Ok, Some(Score::NotApplicable { .. })) => Self::NotApplicable,
            (CellStatus::Ok, Some(Score::Unscored { .. })) => Self::Unscored,
            (CellStatus::Ok, None) => Self::Absent,
        }
    }
}

/// The evidence on whether a metric is pass/fail.
#[derive(Debug, Clone, Copy, Default)]
struct ColumnKind {
    /// Declared as pass/fail.
    binary: bool,
    /// A score was a boolean.
    verdicts: bool,
    /// A score was a number.
    numbers: bool,
}

/// The entries of one metric, sample by sample, systems innermost.
#[derive(Debug, Clone, Default)]
struct Column {
    values: Vec<f64>,
    states: Vec<State>,
    kind: ColumnKind,
    /// The rule that reduces trials.
    rule: Option<Reduce>,
    /// State and value of each trial of an entry; empty if the plan has one trial.
    trials: Vec<(State, f64)>,
    /// The values with which entries, and their trials, enter figures; empty where those are the values themselves.
    figures: Vec<f64>,
    figure_trials: Vec<(State, f64)>,
    /// The grades of each judge, for metrics of several.
    judged: Option<JudgedColumn>,
    /// Labels of each entry (those of its first trial that has some), for metrics whose figure needs them.
    labels: Option<LabelColumn>,
}

/// The labels of a metric, by number.
#[derive(Debug, Clone, Default)]
struct LabelColumn {
    names: BTreeMap<String, u32>,
    /// Number of labels that the scorer declares.
    declared: usize,
    pairs: Vec<Option<(u32, u32)>>,
}

impl LabelColumn {
    /// Starts with the labels that the scorer declares, whether or not an output has them.
    fn with_declared_labels(names: impl Iterator<Item = String>) -> Self {
        let mut labels = Self::default();
        names.for_each(|name| {
            labels.number(name);
        });
        labels.declared = labels.names.len();
        labels
    }

    /// Stores the labels of an entry, unless it has some already.
    fn keep(&mut self, entry: usize, (expected, found): (String, String)) {
        let pair = (self.number(expected), self.number(found));
        self.pairs.resize(self.pairs.len().max(entry + 1), None);
        if let Some(slot) = self.pairs.get_mut(entry).filter(|slot| slot.is_none()) {
            *slot = Some(pair);
        }
    }

    fn number(&mut self, name: String) -> u32 {
        let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        *self.names.entry(name).or_insert(next)
    }
}

/// A sample of the table.
#[derive(Debug, Clone)]
struct TableRow {
    id: Box<str>,
    /// Number of its cluster; a sample without a cluster is its own.
    cluster: u32,
}

/// The scores of a run; see the module.
#[derive(Debug, Clone)]
pub(crate) struct ScoreTable {
    systems: usize,
    /// The largest number of trials in the plan.
    trials: usize,
    clustered: bool,
    design: Option<Arc<SampleDesign>>,
    rows: Vec<TableRow>,
    columns: Vec<Column>,
    /// By metric, the cells of its cascade.
    cascades: BTreeMap<usize, Arc<MetricCascade>>,
}

impl ScoreTable {
    /// Writes the values that cells of cascades show, and beside them those with which they enter estimates. Cells that
    /// cannot be estimated are unscored.
    pub(crate) fn apply_cascades(&mut self, cascades: BTreeMap<usize, Arc<MetricCascade>>) {
        for (metric, cascade) in &cascades {
            let Some(column) = self.columns.get_mut(*metric) else { continue };
            if cascade.is_estimated() {
                column.kind = ColumnKind { numbers: true, ..ColumnKind::default() };
            }
            (column.figures, column.figure_trials) = (column.values.clone(), column.trials.clone());
            for (system, own) in cascade.systems.iter().enumerate() {
                let unsettled = (State::Unscored, 0.0);
                for of_sample in own.cells.chunk_by(|one, other| one.sample == other.sample) {
                    let Some(sample) = of_sample.first().map(|it| it.sample as usize) else { continue };
                    let entry = sample * self.systems + system;
                    let state = |value: Option<f64>| value.map_or(unsettled, |value| (State::Value, value));
                    let shown = |it: &PlacedCell| state(own.fit.and_then(|fit| fit.shown_score(&it.cell)));
                    let figure = |it: &PlacedCell| state(own.fit.and_then(|fit| fit.value(&it.cell)));
                    let shown: Vec<(State, f64)> = of_sample.iter().map(shown).collect();
                    let figures: Vec<(State, f64)> = of_sample.iter().map(figure).collect();
                    let whole = reduce_trials(&shown, Reduce::Mean);
                    if let (Some(slot), Some(number)) = (column.states.get_mut(entry), column.values.get_mut(entry)) {
                        (*slot, *number) = whole;
                    }
                    if let Some(number) = column.figures.get_mut(entry) {
                        *number = reduce_trials(&figures, Reduce::Mean).1;
                    }
                    for (it, (shown, figure)) in of_sample.iter().zip(shown.into_iter().zip(figures)) {
                        let at = entry * self.trials + it.trial as usize;
                        if let Some(slot) = column.trials.get_mut(at) {
                            *slot = shown;
                        }
                        if let Some(slot) = column.figure_trials.get_mut(at) {
                            *slot = figure;
                        }
                    }
                }
            }
        }
        self.cascades = cascades;
    }

    /// The cells of a metric's cascade, if it has one.
    pub(crate) fn cascade(&self, metric: usize) -> Option<&Arc<MetricCascade>> {
        self.cascades.get(&metric)
    }

    /// Returns true if the value of an entry is what its scorer said of each of its cells; false if a cascade did not ask
    /// the judges about one of them, or they gave no score, so that it is estimated.
    pub(crate) fn is_graded(&self, metric: usize, sample: usize, system: usize) -> bool {
        self.cascade(metric).is_none_or(|it| it.cells(sample, system).iter().all(|it| it.cell.dear.is_some()))
    }

    /// Samples with at least one row.
    pub(crate) fn samples(&self) -> usize {
        self.rows.len()
    }

    /// Id of a sample.
    pub(crate) fn sample_id(&self, sample: usize) -> &str {
        self.rows.get(sample).map_or("", |row| &row.id)
    }

    /// The cluster of a sample: the dataset's, or the sample itself.
    pub(crate) fn cluster(&self, sample: usize) -> u32 {
        if self.clustered { self.rows.get(sample).map_or(0, |row| row.cluster) } else { sample as u32 }
    }

    /// Returns true if samples share clusters named by the dataset.
    pub(crate) fn is_clustered(&self) -> bool {
        self.clustered
    }

    /// Returns true if a metric is pass/fail: by its declaration, or because all its scores are booleans.
    pub(crate) fn is_binary(&self, metric: usize) -> bool {
        let kind = self.columns.get(metric).map_or_else(ColumnKind::default, |column| column.kind);
        kind.binary || kind.verdicts && !kind.numbers
    }

    /// The state of an entry.
    pub(crate) fn state(&self, metric: usize, sample: usize, system: usize) -> State {
        let column = self.columns.get(metric);
        column.and_then(|it| it.states.get(sample * self.systems + system)).copied().unwrap_or(State::Absent)
    }

    /// State and shown value of each trial; empty if the plan has one trial, which is the entry itself.
    pub(crate) fn shown_trials(&self, metric: usize, sample: usize, system: usize) -> &[(State, f64)] {
        self.trials_in(sample, system, self.columns.get(metric).map_or(&[][..], |it| &it.trials))
    }

    /// The same with the values that enter figures.
    pub(crate) fn figure_trials(&self, metric: usize, sample: usize, system: usize) -> &[(State, f64)] {
        match self.columns.get(metric) {
            Some(column) if !column.figure_trials.is_empty() => self.trials_in(sample, system, &column.figure_trials),
            _ => self.shown_trials(metric, sample, system),
        }
    }

    fn trials_in<'t>(&self, sample: usize, system: usize, trials: &'t [(State, f64)]) -> &'t [(State, f64)] {
        let from = (sample * self.systems + system) * self.trials;
        trials.get(from..from + self.trials).unwrap_or_default()
    }

    /// Expected and found label of an entry, by number, for metrics whose figure needs them.
    pub(crate) fn labels(&self, metric: usize, sample: usize, system: usize) -> Option<(u32, u32)> {
        let labels = self.columns.get(metric)?.labels.as_ref()?;
        labels.pairs.get(sample * self.systems + system).copied().flatten()
    }

    /// Empty observations of a metric.
    pub(crate) fn observations(&self, metric: usize) -> Observations {
        let labels = self.columns.get(metric).and_then(|column| column.labels.as_ref());
        Observations {
            clustered: self.clustered,
            design: self.design.clone(),
            declared: labels.map_or(0, |labels| labels.declared),
            ..Observations::default()
        }
    }

    /// Empty observations of a metric whose places are pushed, too: the figure of a cascade needs them.
    pub(crate) fn placed_observations(&self, metric: usize) -> Observations {
        Observations { cascade: self.cascade(metric).and_then(ObservedCascade::of), ..self.observations(metric) }
    }

    /// The grades of several judges of an entry; `None` for metrics without several judges.
    pub(crate) fn judges_of(&self, metric: usize, sample: usize, system: usize) -> Option<JudgedEntry<'_>> {
        self.columns.get(metric)?.judged.as_ref()?.entry(sample * self.systems + system)
    }

    /// Returns true if the same judges graded a sample of all these systems, and each of them all of its cells.
    pub(crate) fn have_same_judges(&self, metric: usize, sample: usize, systems: impl Iterator<Item = usize>) -> bool {
        let mut graded = systems.filter_map(|system| self.judges_of(metric, sample, system));
        graded.next().is_none_or(|first| first.complete && graded.all(|other| first.has_judges_of(other)))
    }

    /// The least and the largest value that an entry without one may have on a scale.
    pub(crate) fn possible(&self, metric: usize, (sample, system): (usize, usize), (lo, hi): (f64, f64)) -> (f64, f64) {
        let Some(column) = self.columns.get(metric).filter(|it| it.rule.is_some_and(Reduce::counts_passes)) else {
            return (lo, hi);
        };
        let trials = self.trials_in(sample, system, &column.trials);
        let known: Vec<f64> = trials.iter().filter(|it| it.0 == State::Value).map(|it| it.1).collect();
        let missing = trials.iter().filter(|it| it.0.is_failure() || it.0 == State::Absent).count();
        let end = |end| column.rule.and_then(|rule| rule.extreme(&known, missing, end));
        end(lo).zip(end(hi)).unwrap_or((lo, hi))
    }

    /// Takes the values of a metric away: they measure nothing.
    pub(crate) fn unscore(&mut self, metric: usize) {
        let Some(column) = self.columns.get_mut(metric) else { return };
        let trials = column.trials.iter_mut().chain(&mut column.figure_trials).map(|(state, _)| state);
        column.states.iter_mut().chain(trials).filter(|state| **state == State::Value).for_each(|state| {
            *state = State::Unscored;
        });
    }

    /// The value that an entry shows, if it has one: of a cascade the judges' scores, or what is expected of them.
    pub(crate) fn shown_value(&self, metric: usize, sample: usize, system: usize) -> Option<f64> {
        let at = sample * self.systems + system;
        let column = self.columns.get(metric)?;
        (*column.states.get(at)? == State::Value).then(|| column.values.get(at).copied()).flatten()
    }

    /// The value with which an entry enters figures, if it has one.
    pub(crate) fn figure_value(&self, metric: usize, sample: usize, system: usize) -> Option<FigureValue> {
        let shown = self.shown_value(metric, sample, system)?;
        let at = sample * self.systems + system;
        Some(self.columns.get(metric)?.figures.get(at).copied().unwrap_or(shown).into())
    }
}

impl Column {
    /// Records the kind and the labels of a score.
    fn note(&mut self, score: &Score, entry: usize) {
        self.kind.verdicts |= score.is_verdict();
        self.kind.numbers |= score.number().is_some() && !score.is_verdict();
        if let (Some(labels), Some(said)) = (self.labels.as_mut(), score.labels()) {
            labels.keep(entry, said);
        }
    }
}

/// An empty column of a metric.
fn column(plan: &PlanHeader, metric: &MetricSpec) -> Column {
    let declared = || {
        let scorer = plan.scorers.get(metric.scorer)?;
        let ScorerKind::Metric { with, .. } = &scorer.kind else { return None };
        let labels = with.get("labels")?.as_array()?;
        Some(labels.iter().filter_map(|label| label.as_str().map(str::to_owned)).collect::<Vec<_>>())
    };
    let labels = LabelFigure::parse(&metric.aggregate)
        .map(|_| LabelColumn::with_declared_labels(declared().unwrap_or_default().into_iter()));
    let kind = ColumnKind { binary: metric.binary, ..ColumnKind::default() };
    let judged = || JudgedColumn::of(plan.judges.len());
    let judged = has_several_judges(plan, metric).then(judged);
    Column { kind, labels, judged, rule: Reduce::of_metric(plan, metric), ..Column::default() }
}

/// Fills a [`ScoreTable`] from cells in plan order.
pub(crate) struct TableBuilder {
    plan: Arc<PlanHeader>,
    reduce: Vec<Reduce>,
    table: ScoreTable,
    clusters: BTreeMap<String, u32>,
    next_cluster: u32,
    /// Stratum of each sample in the draw of the dataset.
    strata: Vec<u32>,
    current: Option<u64>,
    /// Trials of the current sample: by system × metric.
    trials: Vec<Trials>,
    /// Grades of the current sample: by system × metric.
    judged: Vec<JudgeSums>,
}

/// State and value of each trial of an entry.
#[derive(Debug, Clone)]
struct Trials(Vec<(State, f64)>);

impl Trials {
    fn set(&mut self, trial: u32, state: State, value: f64) {
        let at = trial as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, (State::Absent, 0.0));
        }
        if let Some(slot) = self.0.get_mut(at) {
            *slot = (state, value);
        }
    }
}

/// Reduces trials to one state and value. Trials that failed or are not there yet are missing.
pub(crate) fn reduce_trials(trials: &[(State, f64)], rule: Reduce) -> (State, f64) {
    let values: Vec<f64> = trials.iter().filter(|(state, _)| *state == State::Value).map(|(_, value)| *value).collect();
    let missing = trials.iter().filter(|(state, _)| state.is_failure() || *state == State::Absent).count();
    let reduced = rule.of_known(&values, missing);
    let state = match (trials.iter().map(|(state, _)| *state).max().unwrap_or(State::Absent), reduced) {
        (State::Value, None) => State::Unscored,
        (state, _) => state,
    };
    (state, reduced.unwrap_or_default())
}

/// The number of a sample's stratum; none of the design's where its value is not there.
fn stratum_of(design: &DatasetDesign, sample: &SampleRecord) -> u32 {
    let value = design.by.as_ref().and_then(|by| sample.metadata.get(by));
    let text = match (value, &sample.date) {
        (None, Some(day)) if design.by.as_deref() == Some(DatasetDesign::DAY) => day.clone(),
        _ => DatasetDesign::stratum_text(value),
    };
    design.strata.iter().position(|stratum| stratum.value == text).map_or(u32::MAX, |at| at as u32)
}

impl TableBuilder {
    /// A builder for a plan.
    ///
    /// # Errors
    /// A scorer's `reduce` is unknown.
    pub(crate) fn new(plan: Arc<PlanHeader>) -> Result<Self, AnalysisError> {
        let unknown = |metric: &MetricSpec| {
            let scorer = plan.scorers.get(metric.scorer);
            let (scorer, reduce) = scorer.map(|it| (it.id.clone(), it.reduce.clone())).unwrap_or_default();
            AnalysisError::UnknownReduce { scorer, reduce }
        };
        let rule = |metric| Reduce::of_metric(&plan, metric).ok_or_else(|| unknown(metric));
        let reduce = plan.metrics.iter().map(rule).collect::<Result<_, _>>()?;
        let systems = plan.systems.len();
        let metrics = plan.metrics.len();
        Ok(Self {
            reduce,
            table: ScoreTable {
                systems,
                trials: plan.trials as usize,
                clustered: false,
                design: None,
                rows: Vec::new(),
                columns: plan.metrics.iter().map(|metric| column(&plan, metric)).collect(),
                cascades: BTreeMap::new(),
            },
            clusters: BTreeMap::new(),
            next_cluster: 0,
            current: None,
            strata: Vec::new(),
            trials: vec![Trials(Vec::new()); systems * metrics],
            judged: (0..systems * metrics).map(|_| JudgeSums::default()).collect(),
            plan,
        })
    }

    /// Adds a row and returns the index of its sample.
    pub(crate) fn add(&mut self, row: &CellRow<'_>, scores: &CellScores) -> usize {
        if self.current != Some(row.sample.row) {
            self.flush();
            self.current = Some(row.sample.row);
            let cluster = self.cluster_of(row.sample);
            self.strata.extend(self.plan.dataset.design.as_ref().map(|design| stratum_of(design, row.sample)));
            self.table.rows.push(TableRow { id: row.sample.id.as_str().into(), cluster });
        }
        let metrics = self.plan.metrics.len();
        let entry = (self.table.rows.len() - 1) * self.table.systems + row.system;
        for metric in 0..metrics {
            let score = scores.scores.get(metric).and_then(Option::as_ref);
            if let (Some(score), Some(column)) = (score, self.table.columns.get_mut(metric)) {
                column.note(score, entry);
            }
            let has_judges = self.table.columns.get(metric).is_some_and(|column| column.judged.is_some());
            let grades = if has_judges { grades_of(&self.plan, row, metric) } else { None };
            if let (Some(grades), Some(sums)) = (grades, self.judged.get_mut(row.system * metrics + metric)) {
                let failed = scores.consensus.get(metric).and_then(Option::as_ref).map_or(0, |it| it.partial.len());
                sums.add(&grades, failed);
            }
            if let Some(trials) = self.trials.get_mut(row.system * metrics + metric) {
                let state = State::of(row, score);
                let number = score.and_then(Score::number).filter(|_| state == State::Value);
                trials.set(row.trial, state, number.unwrap_or_default());
            }
        }
        self.table.rows.len() - 1
    }

    /// Returns the complete table.
    pub(crate) fn finish(mut self) -> ScoreTable {
        self.flush();
        let strata = std::mem::take(&mut self.strata);
        self.table.design = self.plan.dataset.design.as_ref().map(|design| {
            Arc::new(SampleDesign {
                by: design.by.clone().unwrap_or_default(),
                strata: design.strata.iter().map(|stratum| (stratum.rows, stratum.drawn)).collect(),
                of: strata,
                is_weighted: design.is_weighted(),
            })
        });
        self.table.clustered = self.plan.dataset.clustered && (self.next_cluster as usize) < self.table.rows.len();
        self.table
    }

    fn cluster_of(&mut self, sample: &SampleRecord) -> u32 {
        let fresh = self.next_cluster;
        let cluster = match &sample.cluster {
            Some(name) => *self.clusters.entry(name.clone()).or_insert(fresh),
            None => fresh,
        };
        self.next_cluster = self.next_cluster.max(cluster + 1);
        cluster
    }

    fn flush(&mut self) {
        if self.current.is_none() {
            return;
        }
        let metrics = self.plan.metrics.len();
        for (at, trials) in self.trials.iter_mut().enumerate() {
            let metric = at % metrics;
            let rule = self.reduce.get(metric).copied().unwrap_or(Reduce::Mean);
            let planned = self.plan.systems.get(at / metrics).map_or(1, |system| system.trials as usize);
            trials.0.resize(planned.max(trials.0.len()), (State::Absent, 0.0));
            let (state, value) = reduce_trials(&trials.0, rule);
            if let Some(column) = self.table.columns.get_mut(metric) {
                column.values.push(value);
                column.states.push(state);
                if self.table.trials > 1 {
                    trials.0.resize(self.table.trials, (State::Absent, 0.0));
                    column.trials.append(&mut trials.0);
                }
            }
            trials.0.clear();
            if let (Some(sums), Some(column)) = (self.judged.get_mut(at), self.table.columns.get_mut(metric)) {
                column.judged.iter_mut().for_each(|judged| judged.push(sums));
                *sums = JudgeSums::default();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn table(run: &testing::MemoryRun) -> ScoreTable {
        let plan = run.plan();
        let mut builder = TableBuilder::new(plan.clone()).unwrap();
        run.each(|row| {
            builder.add(&row, &CellScores::of(&plan, &row));
        });
        builder.finish()
    }

    /// F111: labels of any number stay apart.
    #[test]
    fn labels_are_not_confused() {
        let mut labels = LabelColumn::default();
        let numbers: std::collections::BTreeSet<u32> = (0..70_000).map(|n| labels.number(format!("l{n}"))).collect();
        assert_eq!(numbers.len(), 70_000);
        labels.keep(0, ("l69999".to_owned(), "l69998".to_owned()));
        assert_eq!(labels.pairs, [Some((69_999, 69_998))]);
    }

    /// CL-18: errors, unscored, not applicable and absent entries stay distinct.
    #[test]
    fn states_are_counted_separately() {
        let run = testing::Sketch::new(1, 1, 5)
            .value(0, 0, 7.0)
            .unscored(1, 0)
            .error(2, 0, "timeout")
            .not_applicable(3, 0)
            .absent(4, 0)
            .run();
        let table = table(&run);
        let states: Vec<State> = (0..4).map(|sample| table.state(0, sample, 0)).collect();
        assert_eq!(states, [State::Value, State::Unscored, State::Error, State::NotApplicable]);
        assert_eq!(table.samples(), 4);
        assert_eq!(table.shown_value(0, 0, 0), Some(7.0));
        assert_eq!(table.shown_value(0, 1, 0), None);
    }

    #[test]
    fn trials_are_reduced_before_anything_else() {
        let run = testing::Sketch::new(1, 1, 1).trials(3).value(0, 0, 6.0).run();
        assert_eq!(table(&run).shown_value(0, 0, 0), Some(6.0));
        let plan = run.plan();
        let mut spec = (*plan).clone();
        spec.scorers[0].reduce = "average".to_owned();
        let refused = TableBuilder::new(Arc::new(spec)).err().unwrap();
        assert!(refused.to_string().contains("pass@k"), "{refused}");
    }

    /// Invariant: clusters of one sample each do not count; one cluster of all samples does.
    #[test]
    fn clusters_count_where_samples_share_them() {
        let clustered = |names: &[&str]| {
            let run = testing::Sketch::new(1, 1, names.len()).clusters(names).fill(5.0).run();
            table(&run).is_clustered()
        };
        assert!(clustered(&["a", "a", "b"]));
        assert!(clustered(&["a", "a", "a"]));
        assert!(!clustered(&["a", "b", "c"]));
    }
}
