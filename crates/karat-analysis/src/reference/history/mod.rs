//! The history of a suite: the current grade of each sample over all runs.
//!
//! A row is replaced when the same judge grades the same sample again under the same prompt version. Rows of other
//! judges or prompt versions are kept beside it. A failed judgment replaces nothing. The grades of a golden check
//! measure the instrument; they count for a sample only if it has no others.
//!
//! `merged` merges the grades of several judges, `before_caps` reads what they gave before caps lowered it.
//!
//! Where one grade per sample is needed (a day of drift or digest, a golden set), it is that of the latest run that
//! judged the sample, or reused a judgment of it: a run that goes back to an earlier judge or prompt makes its grades the
//! current ones again. If several judges did so in that run, their grades are merged by the scorer's `consensus` (by
//! default the mean), as in the run's report and gates. A filter by judge selects that judge's own grade.

mod before_caps;
mod merged;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use karat_types::{CellRow, CellStatus, JudgmentRow, Key, Moment, PlanHeader, RunRows, Score, ScorerKind, ServedName};

use crate::AnalysisError;
use crate::figures::groups::{is_called, system_id};
use crate::score::consensus::CellScores;
use crate::score::instrument::metric_names::primary_metric;
use crate::score::instrument::served_models::{NamesByAsked, add_answers, merge_names, name_list};
use crate::score::prefix::Prefix;
use before_caps::figures_before_caps;
use merged::{is_plain_mean, mean_before_caps, merge_judges};

/// Name of the output among the judged content.
pub(crate) const OUTPUT: &str = "output";

/// One scorer's grades of one sample, by one judge if the scorer has judges.
#[derive(Debug, Clone, PartialEq)]
pub struct GradeRow {
    /// Id of the sample.
    pub sample: String,
    /// Its date, YYYY-MM-DD.
    pub date: Option<String>,
    /// Model and variant.
    pub system: String,
    /// Repetition, from 0.
    pub trial: u32,
    /// Registry id of the judge.
    pub judge: Option<String>,
    /// The model that judged; for merged grades all of them: `a + b`.
    pub judge_model: Option<String>,
    /// Declared version of the rubric.
    pub prompt_version: Option<String>,
    /// Start of the run that produced the grades.
    pub made_at: Moment,
    /// Start of the latest run that produced or reused them.
    pub selected_at: Moment,
    /// Id of that run, or of one that reused the grades.
    pub run: String,
    /// Ordinal of the cell in the run named by `run`.
    pub cell: u64,
    /// True if that run was a golden check, which measures the instrument.
    pub is_golden_check: bool,
    /// Paths of the sources of that run's dataset.
    pub source: String,
    /// Name of the composite metric.
    pub metric: String,
    /// Its value.
    pub composite: f64,
    /// The other figures of the scorer, by dimension, in the rubric's order.
    pub axes: Vec<(String, f64)>,
    /// The judge's reasoning.
    pub notes: String,
    /// Ids of the caps that applied.
    pub caps: Vec<String>,
    /// The judge's own figure in each dimension that a cap lowered.
    pub before_caps: Vec<(String, f64)>,
    /// Reported model names of system and judge, by requested name; empty if no provider reports one.
    pub answered_as: BTreeMap<String, BTreeSet<String>>,
}

/// The grades of one cell by one scorer, one row per judge.
#[derive(Debug, Clone, PartialEq)]
pub struct GradedCell {
    /// At least one, in the order of the plan's judges.
    pub rows: Vec<GradeRow>,
    /// The merged grade of several judges.
    pub merged: Option<GradeRow>,
    /// Digests of the judged content by name: `output`, and what was read of the row, by role or column.
    pub content: BTreeMap<String, Key>,
}

impl GradeRow {
    /// The order of precedence among rows of one key: the greatest is kept.
    fn rank(&self) -> (bool, Moment) {
        (!self.is_golden_check, self.selected_at)
    }

    /// Returns true if both are one grade, of which one may be a reuse of the other.
    fn is_same_grade(&self, other: &Self) -> bool {
        let identity = |row: &Self| (row.made_at, row.composite, row.is_golden_check);
        identity(self) == identity(other)
            && (&self.judge_model, &self.prompt_version) == (&other.judge_model, &other.prompt_version)
    }

    /// Notes a later run that uses this grade.
    fn select_at(&mut self, moment: Moment) {
        self.selected_at = self.selected_at.max(moment);
    }
}

impl GradedCell {
    /// A cell with one grade.
    pub fn of(row: GradeRow) -> Self {
        Self { rows: vec![row], merged: None, content: BTreeMap::new() }
    }

    /// The grade of the cell; `None` if it has no row.
    pub fn grade(&self) -> Option<&GradeRow> {
        self.merged.as_ref().or(self.rows.first())
    }

    /// Start of the latest run that produced or reused one of its grades.
    pub fn selected_at(&self) -> Moment {
        self.rows.iter().map(|row| row.selected_at).max().unwrap_or_default()
    }

    /// Returns true if both have the same grades, of which those of one may be reused.
    fn has_same_grades(&self, other: &Self) -> bool {
        let mut pairs = self.rows.iter().zip(&other.rows);
        self.rows.len() == other.rows.len() && pairs.all(|(one, other)| one.is_same_grade(other))
    }

    /// The order of precedence among grades of one cell: the greatest is kept, and golden checks come last.
    fn rank(&self) -> (bool, Moment) {
        self.rows.iter().map(GradeRow::rank).max().unwrap_or_default()
    }

    /// Keeps the rows that match; `None` without any. The merged grade is dropped if a judge is left out.
    pub fn select(mut self, choice: &RowFilter) -> Option<Self> {
        let all = self.rows.len();
        self.rows.retain(|row| choice.matches(row));
        self.merged = self.merged.filter(|_| self.rows.len() == all);
        (!self.rows.is_empty()).then_some(self)
    }
}

/// Selects rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowFilter {
    /// First date, YYYY-MM-DD. Samples without a date are in no range.
    pub since: Option<String>,
    /// Last date.
    pub until: Option<String>,
    /// The judge: its registry id, or the model that judged.
    pub judge: Option<String>,
    /// The prompt version.
    pub prompt_version: Option<String>,
    /// The system: its id, or its model or variant.
    pub system: Option<String>,
    /// The dataset sources.
    pub sources: Option<BTreeSet<String>>,
}

impl RowFilter {
    /// Returns true if the row matches every condition.
    pub fn matches(&self, row: &GradeRow) -> bool {
        let at_least = |bound: &Option<String>| bound.as_ref().is_none_or(|bound| row.date.as_ref() >= Some(bound));
        let at_most = self.until.as_ref().is_none_or(|bound| row.date.as_ref().is_some_and(|date| date <= bound));
        let judge = self.judge.as_ref().is_none_or(|judge| is_judge(judge, row));
        let version = self.prompt_version.is_none() || self.prompt_version == row.prompt_version;
        let system = self.system.as_ref().is_none_or(|system| is_called(&row.system, system));
        let source = self.sources.as_ref().is_none_or(|sources| sources.contains(&row.source));
        at_least(&self.since) && at_most && judge && version && system && source
    }
}

/// Returns true if `name` is the judge of a row.
fn is_judge(name: &str, row: &GradeRow) -> bool {
    [&row.judge, &row.judge_model].into_iter().flatten().any(|known| known == name)
}

/// The metric that rows are made from, and the other metrics of its scorer.
struct GradedMetric {
    scorer: usize,
    metric: usize,
    /// Dimension and metric index.
    axes: Vec<(String, usize)>,
    by_judges: bool,
    source: String,
}

impl GradedMetric {
    fn of(plan: &PlanHeader, metric: Option<&str>) -> Option<Self> {
        let metric = metric.map_or_else(|| primary_metric(plan), |name| plan.metric(name))?;
        let scorer = plan.metrics.get(metric)?.scorer;
        let spec = plan.scorers.get(scorer)?;
        let own = plan.metrics.iter().enumerate().filter(|(at, it)| it.scorer == scorer && *at != metric);
        let dimension = |name: &str| {
            let rest = name.strip_prefix(&spec.id).and_then(|rest| rest.strip_prefix('.'));
            rest.unwrap_or(name).to_owned()
        };
        Some(Self {
            scorer,
            metric,
            axes: own.map(|(at, it)| (dimension(&it.name), at)).collect(),
            by_judges: matches!(spec.kind, ScorerKind::Rubric(_)),
            source: source_of(plan),
        })
    }
}

/// The sources of a plan's dataset, as stored in rows.
pub fn source_of(plan: &PlanHeader) -> String {
    plan.dataset.sources.iter().map(|source| source.path.as_str()).collect::<Vec<_>>().join(", ")
}

/// Calls `each` with every graded cell of a run, by its primary metric or by the named one. A run without the metric
/// has no such cell.
///
/// # Errors
/// Rows that cannot be read.
pub fn for_each_graded(
    rows: &dyn RunRows,
    metric: Option<&str>,
    each: &mut dyn FnMut(GradedCell),
) -> Result<(), AnalysisError> {
    let header = rows.header();
    let plan = header.plan.clone();
    let Some(graded) = GradedMetric::of(&plan, metric) else { return Ok(()) };
    let unreadable = |source| AnalysisError::Rows { run: header.id.clone(), source };
    let prefix = Prefix::of(rows).map_err(unreadable)?;
    let rows = prefix.as_ref().map_or(rows, |prefix| prefix as &dyn RunRows);
    let read = rows.for_each(&mut |row| {
        if row.cell.status == CellStatus::Ok {
            grade_cell(&plan, &header.id, header.started_at, &graded, &row).into_iter().for_each(&mut *each);
        }
        ControlFlow::Continue(())
    });
    read.map_err(unreadable)
}

fn grade_cell(
    plan: &PlanHeader,
    run: &str,
    started_at: Moment,
    graded: &GradedMetric,
    row: &CellRow<'_>,
) -> Option<GradedCell> {
    let names = |answered: &[ServedName]| {
        let mut names = NamesByAsked::new();
        add_answers(answered, &mut names);
        names
    };
    let base = |(composite, axes)| GradeRow {
        sample: row.sample.id.clone(),
        date: row.sample.date.clone(),
        system: system_id(plan, row.system),
        trial: row.trial,
        judge: None,
        judge_model: None,
        prompt_version: None,
        made_at: row.cell.made_at.unwrap_or(started_at),
        selected_at: started_at,
        run: run.to_owned(),
        cell: row.cell.ordinal,
        is_golden_check: plan.run.measures_judges,
        source: graded.source.clone(),
        metric: plan.metrics.get(graded.metric).map(|it| it.name.clone()).unwrap_or_default(),
        composite,
        axes,
        notes: String::new(),
        caps: Vec::new(),
        before_caps: Vec::new(),
        answered_as: names(&row.cell.facts.answered),
    };
    let figures = |number: &dyn Fn(usize) -> Option<f64>| {
        let axes = graded.axes.iter().filter_map(|(name, at)| Some((name.clone(), number(*at)?)));
        Some((number(graded.metric)?, axes.collect()))
    };
    let of_scores = |scores: &[(u16, Score)]| {
        figures(&|wanted| scores.iter().find(|(at, _)| usize::from(*at) == wanted)?.1.number())
    };
    // In a tournament a judgment holds a part of the cell's games.
    let of_judgment = |judgment: &JudgmentRow| {
        let won = |wanted: usize| {
            let own = row.shares.iter().filter(|share| share.judge == judgment.judge);
            own.into_iter().find(|share| usize::from(share.metric) == wanted).map(|share| share.won / share.games)
        };
        if row.shares.is_empty() { of_scores(&judgment.scores) } else { figures(&won) }
    };
    if !graded.by_judges {
        let own = base(of_scores(&row.cell.scores)?);
        return Some(GradedCell { content: content_digests(row), ..GradedCell::of(own) });
    }
    let own = row.judgments.iter().filter(|judgment| usize::from(judgment.scorer) == graded.scorer);
    let mut rows: Vec<(u16, GradeRow)> = own
        .filter_map(|judgment| {
            let judge = plan.judges.get(usize::from(judgment.judge));
            let mut judged = GradeRow {
                judge: judge.map(|judge| judge.id.clone()),
                judge_model: judge.map(|judge| judge.model.clone()),
                prompt_version: judgment.prompt_version.clone(),
                made_at: judgment.made_at.unwrap_or(started_at),
                notes: judgment.reasoning.clone(),
                caps: judgment.caps.clone(),
                before_caps: figures_before_caps(plan, graded, judgment),
                ..base(of_judgment(judgment)?)
            };
            add_answers(&judgment.answered, &mut judged.answered_as);
            Some((judgment.judge, judged))
        })
        .collect();
    rows.sort_by_key(|(judge, _)| *judge);
    let rows: Vec<GradeRow> = rows.into_iter().map(|(_, judged)| judged).collect();
    let scores = (rows.len() > 1).then(|| CellScores::of(plan, row));
    let merged = scores.and_then(|scores| figures(&|wanted| scores.number(wanted)));
    let merged = merged.map(|figures| {
        let merged = merge_judges(base(figures), &rows);
        let before_caps = if is_plain_mean(plan, graded) { mean_before_caps(&rows) } else { Vec::new() };
        GradeRow { before_caps, ..merged }
    });
    (!rows.is_empty()).then(|| GradedCell { rows, merged, content: content_digests(row) })
}

/// Digests of the judged content of a cell.
pub(crate) fn content_digests(row: &CellRow<'_>) -> BTreeMap<String, Key> {
    let judged = row.sample.reads.iter().filter(|(name, _)| karat_types::scored_part(name).is_none());
    let read = judged.map(|(name, digest)| (name.clone(), *digest));
    // A column may have the same name; the output takes precedence.
    read.chain([(OUTPUT.to_owned(), row.cell.output_hash)]).collect()
}

/// The key of a row: a later row with the same key replaces it.
type RowKey = (Option<String>, String, String, u32, Option<String>, Option<String>);

/// Date, sample, system and trial.
type CellKey = (Option<String>, String, String, u32);

/// The current rows and cells, by date and sample.
#[derive(Debug, Clone, Default)]
pub struct History {
    rows: BTreeMap<RowKey, GradeRow>,
    cells: BTreeMap<CellKey, GradedCell>,
    /// The latest rows of golden checks, whether current or not.
    checks: BTreeMap<RowKey, GradeRow>,
    /// Samples whose content differs between two sources.
    disputed: BTreeMap<(String, String), BTreeSet<String>>,
    /// Cells whose grade replaced another one of an earlier run.
    regraded: BTreeSet<CellKey>,
}

impl History {
    /// Adds a cell. The row of a key and the grade of a cell that the later run uses are kept; of equally late ones the first
    /// added. A reused grade keeps its run. A golden check counts only if nothing else does.
    pub fn add(&mut self, cell: GradedCell) {
        for row in &cell.rows {
            let (date, sample, system, trial) = cell_key(row);
            let place = (date, sample, system, trial, row.judge_model.clone(), row.prompt_version.clone());
            if row.is_golden_check {
                keep_latest(&mut self.checks, place.clone(), row);
            }
            keep_latest(&mut self.rows, place, row);
        }
        let Some(place) = cell.rows.first().map(cell_key) else { return };
        if let Some(sources) = self.cells.get(&place).and_then(|known| source_conflict(known, &cell)) {
            self.disputed.entry(sources).or_default().insert(place.1.clone());
        }
        if let Some(known) = self.cells.get_mut(&place).filter(|known| known.has_same_grades(&cell)) {
            let selected_at = cell.selected_at();
            known.rows.iter_mut().chain(&mut known.merged).for_each(|row| row.select_at(selected_at));
            return;
        }
        let known = self.cells.get(&place);
        if known.is_none_or(|known| known.rank() < cell.rank()) {
            let composite = |cell: &GradedCell| cell.grade().map(|grade| (grade.composite, grade.is_golden_check));
            let is_other =
                |known| composite(known) != composite(&cell) && composite(known).is_some_and(|(_, check)| !check);
            if known.is_some_and(is_other) {
                self.regraded.insert(place.clone());
            }
            self.cells.insert(place, cell);
        }
    }

    /// Returns true if the grade of a row's cell replaced a different one of an earlier run.
    pub fn is_regraded(&self, row: &GradeRow) -> bool {
        self.regraded.contains(&cell_key(row))
    }

    /// Warnings, such as documents of one source that replace those of another.
    pub fn warnings(&self) -> Vec<String> {
        let say = |((one, other), samples): (&(String, String), &BTreeSet<String>)| {
            let first = samples.first().map_or("", String::as_str);
            format!(
                "{one} and {other} contain {} samples with the same id but different content, such as {first}; the later grades are \
                 used. If they are different datasets, give one suite another `name`, or select one source with `-p` of `drift` \
                 and `golden pin`",
                samples.len()
            )
        };
        self.disputed.iter().map(say).chain(self.golden_only_warning()).collect()
    }

    /// The warning about samples graded by golden checks only.
    fn golden_only_warning(&self) -> Option<String> {
        let is_golden_check = self.cells().filter_map(GradedCell::grade).filter(|grade| grade.is_golden_check);
        let samples: BTreeSet<&str> = is_golden_check.map(|grade| grade.sample.as_str()).collect();
        let first = samples.first()?;
        Some(format!(
            "samples graded by golden checks only: {}, such as {first}; grade them with `karat run`",
            samples.len()
        ))
    }

    /// The rows, by date, then sample.
    pub fn rows(&self) -> impl Iterator<Item = &GradeRow> {
        self.current_rows().map(|(_, row)| row)
    }

    /// The rows, each followed by a later golden check of its judge. The check is shown but does not count: the row before
    /// it is the one that digests and drift use.
    pub fn with_golden_checks(&self) -> impl Iterator<Item = &GradeRow> {
        self.current_rows().flat_map(|(place, row)| {
            let check = self.checks.get(place).filter(|check| check.selected_at > row.selected_at);
            std::iter::once(row).chain(check)
        })
    }

    /// A note on the rows of golden checks that are listed beside those that count; `None` without any.
    pub fn golden_check_note(&self) -> Option<String> {
        let listed = self.with_golden_checks().count() - self.len();
        (listed > 0).then(|| {
            format!(
                "{listed} rows marked `golden_check` come from golden checks. They measure the judge: digest, drift and golden \
                 sets use the other row of the sample"
            )
        })
    }

    fn current_rows(&self) -> impl Iterator<Item = (&RowKey, &GradeRow)> {
        self.rows.iter().filter(|(_, row)| !row.is_golden_check || !self.is_graded(row))
    }

    /// Every cell with its latest grade, by date, then sample.
    pub fn cells(&self) -> impl Iterator<Item = &GradedCell> {
        let stands = |cell: &&GradedCell| cell.rows.iter().all(|row| !row.is_golden_check || !self.has_cell(row));
        self.cells.values().filter(stands)
    }

    /// Returns true if its judge graded any trial of the row's sample outside golden checks.
    fn is_graded(&self, row: &GradeRow) -> bool {
        let (date, sample, system, _) = cell_key(row);
        let all = self.rows.range((date, sample, system, 0, None, None)..).map(|(_, other)| other);
        let is_same =
            |other: &GradeRow| other.judge_model == row.judge_model && other.prompt_version == row.prompt_version;
        all.take_while(|other| is_same_sample(other, row)).any(|other| !other.is_golden_check && is_same(other))
    }

    /// Returns true if any judge graded any trial of the row's sample outside golden checks.
    fn has_cell(&self, row: &GradeRow) -> bool {
        let (date, sample, system, _) = cell_key(row);
        let all = self.cells.range((date, sample, system, 0)..).filter_map(|(_, cell)| cell.rows.first());
        all.take_while(|other| is_same_sample(other, row)).any(|other| !other.is_golden_check)
    }

    /// Number of current rows.
    pub fn len(&self) -> usize {
        self.rows().count()
    }

    /// Returns true if there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The daily figures of each system: the latest grade of each sample, averaged if a day has several samples. Rows
    /// without a date are left out.
    pub fn series(&self) -> BTreeMap<String, Vec<Day>> {
        let mut series: BTreeMap<String, Vec<Day>> = BTreeMap::new();
        for cell in self.cells() {
            let Some((grade, date)) = cell.grade().and_then(|grade| Some((grade, grade.date.as_deref()?))) else {
                continue;
            };
            let days = series.entry(grade.system.clone()).or_default();
            if days.last().is_none_or(|day| day.date != date) {
                days.push(Day::empty(date));
            }
            if let Some(day) = days.last_mut() {
                day.add(grade);
                day.is_merged |= cell.merged.is_some();
            }
        }
        series
    }
}

/// Keeps the row of a key that the later run uses.
fn keep_latest(rows: &mut BTreeMap<RowKey, GradeRow>, place: RowKey, row: &GradeRow) {
    match rows.get_mut(&place) {
        Some(known) if known.is_same_grade(row) => known.select_at(row.selected_at),
        Some(known) if known.rank() >= row.rank() => {}
        _ => {
            rows.insert(place, row.clone());
        }
    }
}

/// The sources of two cells of one key, in order of their names, if both the sources and the judged content differ.
fn source_conflict(known: &GradedCell, cell: &GradedCell) -> Option<(String, String)> {
    let (one, other) = (&known.rows.first()?.source, &cell.rows.first()?.source);
    let differ = one != other && known.content != cell.content;
    differ.then(|| (one.min(other).clone(), one.max(other).clone()))
}

fn cell_key(row: &GradeRow) -> CellKey {
    (row.date.clone(), row.sample.clone(), row.system.clone(), row.trial)
}

/// Returns true if two rows belong to the same sample and system.
fn is_same_sample(one: &GradeRow, other: &GradeRow) -> bool {
    (&one.date, &one.sample, &one.system) == (&other.date, &other.sample, &other.system)
}

/// The figures of one day.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Day {
    /// The date, YYYY-MM-DD.
    pub date: String,
    composites: Vec<f64>,
    axes: BTreeMap<String, Vec<f64>>,
    /// Models that judged; merged judges count as one name.
    pub judges: BTreeSet<String>,
    /// Their prompt versions.
    pub prompt_versions: BTreeSet<String>,
    /// Reported model names of systems and judges, by requested name.
    pub answered_as: BTreeMap<String, BTreeSet<String>>,
    /// True if grades of several judges were merged.
    pub is_merged: bool,
}

impl Day {
    fn add(&mut self, row: &GradeRow) {
        self.composites.push(row.composite);
        for (axis, value) in &row.axes {
            self.axes.entry(axis.clone()).or_default().push(*value);
        }
        self.judges.extend(row.judge_model.clone());
        self.prompt_versions.extend(row.prompt_version.clone());
        merge_names(&row.answered_as, &mut self.answered_as);
    }

    /// A day without a figure.
    pub(crate) fn empty(date: impl Into<String>) -> Self {
        Self { date: date.into(), ..Self::default() }
    }

    /// A day with one figure.
    pub fn new(date: impl Into<String>, value: f64) -> Self {
        Self { composites: vec![value], ..Self::empty(date) }
    }

    /// Adds a figure.
    pub(crate) fn push(&mut self, value: f64) {
        self.composites.push(value);
    }

    /// Samples.
    pub fn samples(&self) -> usize {
        self.composites.len()
    }

    /// Mean of its samples.
    pub fn value(&self) -> f64 {
        mean(&self.composites)
    }

    /// Mean of its samples in one dimension, if any has it.
    pub fn axis(&self, name: &str) -> Option<f64> {
        self.axes.get(name).map(|values| mean(values))
    }
}

/// Warnings about the judges of a range of days. `stretch` names the range.
pub(crate) fn judge_mix_warnings<'a>(days: impl IntoIterator<Item = &'a Day>, stretch: &str) -> Vec<String> {
    let (mut judges, mut versions, mut is_merged) = (BTreeSet::new(), BTreeSet::new(), false);
    let mut answered = NamesByAsked::new();
    for day in days {
        judges.extend(day.judges.iter().map(String::as_str));
        versions.extend(day.prompt_versions.iter().map(String::as_str));
        is_merged |= day.is_merged;
        merge_names(&day.answered_as, &mut answered);
    }
    let list = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(", ");
    let mixed = |what: &str, names: &BTreeSet<&str>| {
        let names = Some(list(names)).filter(|_| names.len() > 1)?;
        Some(format!("{stretch} contains several {what} ({names}): a change between them can look like drift"))
    };
    let merged = is_merged.then(|| {
        let names = list(&judges);
        format!("{names}: grades of several judges of a run are merged by the scorer's consensus; select one judge with `--judge`")
    });
    let several = answered.iter().filter(|(_, names)| names.len() > 1);
    let several = several.map(|(asked, names)| {
        format!(
            "{stretch} contains several models behind `{asked}` ({}): a change between them can look like drift. Set its `model` \
             to the dated name",
            name_list(names)
        )
    });
    let mixed = mixed("judges", &judges).into_iter().chain(mixed("prompt versions", &versions));
    mixed.chain(several).chain(merged).collect()
}

/// Mean of at least one value.
fn mean(values: &[f64]) -> f64 {
    karat_stats::describe::mean(values).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the values are exact")]
mod tests;
