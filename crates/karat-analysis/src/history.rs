//! The history of a suite: the grades that stand for each sample, whichever run gave them (BR-08).
//!
//! A row stands until the same judge grades the same sample under the same prompt version again. Rows of another judge
//! or prompt version stand beside it. What failed replaces nothing.
//!
//! Whatever wants one grade of a sample (a day of drift or digest, a golden set) takes that of the latest run that judged
//! it. Where several judges did so in that run, they are one grade as in the run's report and gates: by the scorer's
//! `consensus`, which is the mean unless the suite says otherwise. Who asks for one judge gets that one's grade.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use karat_types::{CellRow, CellStatus, Key, Moment, PlanHeader, RunRows, Score, ScorerKind};

use crate::AnalysisError;
use crate::consensus::CellScores;
use crate::groups::system_id;
use crate::primary::primary;

/// Name of the output among what was judged.
pub(crate) const OUTPUT: &str = "output";

/// One scorer's grades of one sample: of one judge, where judges grade.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
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
    /// The model that judged; of several that are one grade, all of them: `a + b`.
    pub judge_model: Option<String>,
    /// Declared version of the rubric.
    pub prompt_version: Option<String>,
    /// When the run began that gave the grades.
    pub made_at: Moment,
    /// That run, or one that took the grades over from it.
    pub run: String,
    /// Where that run's samples were read from: the paths of its dataset's sources.
    pub source: String,
    /// Name of the metric that sums the grades up.
    pub metric: String,
    /// Its value.
    pub composite: f64,
    /// The other figures of the scorer, by dimension, in the rubric's order.
    pub axes: Vec<(String, f64)>,
    /// The judge's words.
    pub notes: String,
    /// Ids of the caps that held.
    pub caps: Vec<String>,
}

/// The grades of one cell by one scorer: a row a judge.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedCell {
    /// At least one, in the order of the plan's judges.
    pub rows: Vec<Judged>,
    /// What several judges are together.
    pub together: Option<Judged>,
    /// Digests of what was judged, by name: `output`, and what of the row was read, by role or column.
    pub content: BTreeMap<String, Key>,
}

impl JudgedCell {
    /// A cell with one grade.
    pub fn of(row: Judged) -> Self {
        Self { rows: vec![row], together: None, content: BTreeMap::new() }
    }

    /// The one grade of the cell; `None` where it has no row.
    pub fn grade(&self) -> Option<&Judged> {
        self.together.as_ref().or(self.rows.first())
    }

    /// When the latest of its grades were given.
    pub fn made_at(&self) -> Moment {
        self.rows.iter().map(|row| row.made_at).max().unwrap_or_default()
    }

    /// The same with the rows that are chosen; `None` without any. Judges that are left out have no part in the grade.
    pub fn chosen(mut self, choice: &Choice) -> Option<Self> {
        let all = self.rows.len();
        self.rows.retain(|row| choice.takes(row));
        self.together = self.together.filter(|_| self.rows.len() == all);
        (!self.rows.is_empty()).then_some(self)
    }
}

/// Which rows are looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    /// From this date on, YYYY-MM-DD. Samples without a date are in no range of dates.
    pub since: Option<String>,
    /// Up to this date.
    pub until: Option<String>,
    /// Of this judge: its registry id, or the model that judged.
    pub judge: Option<String>,
    /// Of this prompt version.
    pub prompt_version: Option<String>,
    /// Of this system: its id, or its model or variant.
    pub system: Option<String>,
    /// Read from one of these.
    pub sources: Option<BTreeSet<String>>,
}

impl Choice {
    /// Whether a row is meant.
    pub fn takes(&self, row: &Judged) -> bool {
        let at_least = |bound: &Option<String>| bound.as_ref().is_none_or(|bound| row.date.as_ref() >= Some(bound));
        let at_most = self.until.as_ref().is_none_or(|bound| row.date.as_ref().is_some_and(|date| date <= bound));
        let judge = self.judge.as_ref().is_none_or(|judge| is_judge(judge, row));
        let version = self.prompt_version.is_none() || self.prompt_version == row.prompt_version;
        let system = self.system.as_ref().is_none_or(|system| is_system(system, row));
        let source = self.sources.as_ref().is_none_or(|sources| sources.contains(&row.source));
        at_least(&self.since) && at_most && judge && version && system && source
    }
}

/// Whether a name means the judge of a row.
fn is_judge(name: &str, row: &Judged) -> bool {
    [&row.judge, &row.judge_model].into_iter().flatten().any(|known| known == name)
}

/// Whether a name means the system of a row.
fn is_system(name: &str, row: &Judged) -> bool {
    let (model, variant) = row.system.rsplit_once('/').unwrap_or(("", &row.system));
    [row.system.as_str(), model, variant].contains(&name)
}

/// The metric of a run that rows are made of, and its scorer's other figures.
struct Graded {
    scorer: usize,
    metric: usize,
    /// Dimension and metric index.
    axes: Vec<(String, usize)>,
    by_judges: bool,
    source: String,
}

impl Graded {
    fn of(plan: &PlanHeader, metric: Option<&str>) -> Option<Self> {
        let metric = metric.map_or_else(|| primary(plan), |name| plan.metric(name))?;
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

/// Where the samples of a plan are read from, as rows tell it.
pub fn source_of(plan: &PlanHeader) -> String {
    plan.dataset.sources.iter().map(|source| source.path.as_str()).collect::<Vec<_>>().join(", ")
}

/// Calls `each` with every graded cell of a run: by its primary metric, or by the one that is named. A run that does not
/// have it gives none.
///
/// # Errors
/// Rows that cannot be read.
pub fn judged(rows: &dyn RunRows, metric: Option<&str>, each: &mut dyn FnMut(JudgedCell)) -> Result<(), AnalysisError> {
    let header = rows.header();
    let plan = header.plan.clone();
    let Some(graded) = Graded::of(&plan, metric) else { return Ok(()) };
    let read = rows.for_each(&mut |row| {
        if row.cell.status == CellStatus::Ok {
            of_cell(&plan, &header.id, header.started_at, &graded, &row).into_iter().for_each(&mut *each);
        }
        ControlFlow::Continue(())
    });
    read.map_err(|source| AnalysisError::Rows { run: header.id.clone(), source })
}

fn of_cell(plan: &PlanHeader, run: &str, started_at: Moment, graded: &Graded, row: &CellRow<'_>) -> Option<JudgedCell> {
    let base = |(composite, axes)| Judged {
        sample: row.sample.id.clone(),
        date: row.sample.date.clone(),
        system: system_id(plan, row.system),
        trial: row.trial,
        judge: None,
        judge_model: None,
        prompt_version: None,
        made_at: row.cell.made_at.unwrap_or(started_at),
        run: run.to_owned(),
        source: graded.source.clone(),
        metric: plan.metrics.get(graded.metric).map(|it| it.name.clone()).unwrap_or_default(),
        composite,
        axes,
        notes: String::new(),
        caps: Vec::new(),
    };
    let figures = |number: &dyn Fn(usize) -> Option<f64>| {
        let axes = graded.axes.iter().filter_map(|(name, at)| Some((name.clone(), number(*at)?)));
        Some((number(graded.metric)?, axes.collect()))
    };
    let of_scores = |scores: &[(u16, Score)]| {
        figures(&|wanted| scores.iter().find(|(at, _)| usize::from(*at) == wanted)?.1.number())
    };
    if !graded.by_judges {
        let own = base(of_scores(&row.cell.scores)?);
        return Some(JudgedCell { content: content(row), ..JudgedCell::of(own) });
    }
    let own = row.judgments.iter().filter(|judgment| usize::from(judgment.scorer) == graded.scorer);
    let mut rows: Vec<(u16, Judged)> = own
        .filter_map(|judgment| {
            let judge = plan.judges.get(usize::from(judgment.judge));
            let judged = Judged {
                judge: judge.map(|judge| judge.id.clone()),
                judge_model: judge.map(|judge| judge.model.clone()),
                prompt_version: judgment.prompt_version.clone(),
                made_at: judgment.made_at.unwrap_or(started_at),
                notes: judgment.reasoning.clone(),
                caps: judgment.caps.clone(),
                ..base(of_scores(&judgment.scores)?)
            };
            Some((judgment.judge, judged))
        })
        .collect();
    rows.sort_by_key(|(judge, _)| *judge);
    let rows: Vec<Judged> = rows.into_iter().map(|(_, judged)| judged).collect();
    let scores = (rows.len() > 1).then(|| CellScores::of(plan, row));
    let together = scores.and_then(|scores| figures(&|wanted| scores.number(wanted)));
    let together = together.map(|figures| united(base(figures), &rows));
    (!rows.is_empty()).then(|| JudgedCell { rows, together, content: content(row) })
}

/// What of a cell was judged.
fn content(row: &CellRow<'_>) -> BTreeMap<String, Key> {
    let read = row.sample.reads.iter().map(|(name, digest)| (name.clone(), *digest));
    // A column may have this name, too: the output is what counts.
    read.chain([(OUTPUT.to_owned(), row.cell.output_hash)]).collect()
}

/// The name of judges that are one grade, whatever their order: `a + b`.
pub(crate) fn together<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let names: BTreeSet<&str> = names.collect();
    (!names.is_empty()).then(|| names.into_iter().collect::<Vec<_>>().join(" + "))
}

/// What judges said together, around the figures they have together.
fn united(figures: Judged, rows: &[Judged]) -> Judged {
    let names = |of: fn(&Judged) -> Option<&String>| together(rows.iter().filter_map(of).map(String::as_str));
    let caps: BTreeSet<&String> = rows.iter().flat_map(|row| &row.caps).collect();
    Judged {
        judge: names(|row| row.judge.as_ref()),
        judge_model: names(|row| row.judge_model.as_ref()),
        prompt_version: names(|row| row.prompt_version.as_ref()),
        // As old as the oldest of them.
        made_at: rows.iter().map(|row| row.made_at).min().unwrap_or(figures.made_at),
        notes: rows
            .iter()
            .map(|row| row.notes.as_str())
            .filter(|notes| !notes.is_empty())
            .collect::<Vec<_>>()
            .join("\n"),
        caps: caps.into_iter().cloned().collect(),
        ..figures
    }
}

/// What a row stands for: another row of the same place replaces it.
type Place = (Option<String>, String, String, u32, Option<String>, Option<String>);

/// Date, sample, system and trial.
type CellPlace = (Option<String>, String, String, u32);

/// The rows that stand, by date and sample.
#[derive(Debug, Clone, Default)]
pub struct History {
    rows: BTreeMap<Place, Judged>,
    cells: BTreeMap<CellPlace, JudgedCell>,
    /// Samples that two sources have, and not the same.
    disputed: BTreeMap<(String, String), BTreeSet<String>>,
}

impl History {
    /// Takes a cell. Of one place the later row stands, and of one cell the later grade; of equally late ones the one that
    /// was taken first.
    pub fn add(&mut self, cell: JudgedCell) {
        for row in &cell.rows {
            let (date, sample, system, trial) = place(row);
            let place = (date, sample, system, trial, row.judge_model.clone(), row.prompt_version.clone());
            if self.rows.get(&place).is_none_or(|known| known.made_at < row.made_at) {
                self.rows.insert(place, row.clone());
            }
        }
        let Some(place) = cell.rows.first().map(place) else { return };
        if let Some(sources) = self.cells.get(&place).and_then(|known| disputed(known, &cell)) {
            self.disputed.entry(sources).or_default().insert(place.1.clone());
        }
        if self.cells.get(&place).is_none_or(|known| known.made_at() < cell.made_at()) {
            self.cells.insert(place, cell);
        }
    }

    /// What a reader must know: documents of one source that stand in place of others of another.
    pub fn warnings(&self) -> Vec<String> {
        let say = |((one, other), samples): (&(String, String), &BTreeSet<String>)| {
            let first = samples.first().map_or("", String::as_str);
            format!(
                "{one} and {other} have {} samples of one id that are not the same, such as {first}: the later judged stand. \
                 What is no later state of the other wants a suite with a `name` of its own; `-p` of `drift` and `golden pin` \
                 looks at one",
                samples.len()
            )
        };
        self.disputed.iter().map(say).collect()
    }

    /// The rows, by date, then sample.
    pub fn rows(&self) -> impl Iterator<Item = &Judged> {
        self.rows.values()
    }

    /// Every cell as it was graded last, by date, then sample.
    pub fn cells(&self) -> impl Iterator<Item = &JudgedCell> {
        self.cells.values()
    }

    /// How many rows stand.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// By system, one figure a date: the latest grade of each sample, and their mean where a day has several samples. Rows
    /// without a date are left out.
    pub fn series(&self) -> BTreeMap<String, Vec<Day>> {
        let mut series: BTreeMap<String, Vec<Day>> = BTreeMap::new();
        for cell in self.cells.values() {
            let Some((grade, date)) = cell.grade().and_then(|grade| Some((grade, grade.date.as_deref()?))) else {
                continue;
            };
            let days = series.entry(grade.system.clone()).or_default();
            if days.last().is_none_or(|day| day.date != date) {
                days.push(Day::on(date));
            }
            if let Some(day) = days.last_mut() {
                day.add(grade);
                day.is_together |= cell.together.is_some();
            }
        }
        series
    }
}

/// The sources of two cells of one place, in the order of their names, where they differ and so does what was judged.
fn disputed(known: &JudgedCell, cell: &JudgedCell) -> Option<(String, String)> {
    let (one, other) = (&known.rows.first()?.source, &cell.rows.first()?.source);
    let differ = one != other && known.content != cell.content;
    differ.then(|| (one.min(other).clone(), one.max(other).clone()))
}

fn place(row: &Judged) -> CellPlace {
    (row.date.clone(), row.sample.clone(), row.system.clone(), row.trial)
}

/// What a day's samples got together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Day {
    /// The date, YYYY-MM-DD.
    pub date: String,
    composites: Vec<f64>,
    axes: BTreeMap<String, Vec<f64>>,
    /// Models that judged: those that are one grade by one name.
    pub judges: BTreeSet<String>,
    /// Their prompt versions.
    pub prompt_versions: BTreeSet<String>,
    /// Whether several judges are one grade.
    pub is_together: bool,
}

impl Day {
    fn add(&mut self, row: &Judged) {
        self.composites.push(row.composite);
        for (axis, value) in &row.axes {
            self.axes.entry(axis.clone()).or_default().push(*value);
        }
        self.judges.extend(row.judge_model.clone());
        self.prompt_versions.extend(row.prompt_version.clone());
    }

    /// A day without a figure.
    pub(crate) fn on(date: impl Into<String>) -> Self {
        Self { date: date.into(), ..Self::default() }
    }

    /// A day with one figure.
    pub fn new(date: impl Into<String>, value: f64) -> Self {
        Self { composites: vec![value], ..Self::on(date) }
    }

    /// One figure more.
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

    /// Mean of its samples in one dimension, where any has it.
    pub fn axis(&self, name: &str) -> Option<f64> {
        self.axes.get(name).map(|values| mean(values))
    }
}

/// What a reader must know of who judged a stretch of days.
pub(crate) fn said_of_judges<'a>(days: impl IntoIterator<Item = &'a Day>, stretch: &str) -> Vec<String> {
    let (mut judges, mut versions, mut is_together) = (BTreeSet::new(), BTreeSet::new(), false);
    for day in days {
        judges.extend(day.judges.iter().map(String::as_str));
        versions.extend(day.prompt_versions.iter().map(String::as_str));
        is_together |= day.is_together;
    }
    let list = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(", ");
    let mixed = |what: &str, names: &BTreeSet<&str>| {
        let names = Some(list(names)).filter(|_| names.len() > 1)?;
        Some(format!("{stretch} mixes {what} ({names}): a change of them can look like drift"))
    };
    let together = is_together.then(|| {
        let names = list(&judges);
        format!("{names}: judges of one run are one grade, by the scorer's consensus; `--judge` looks at one alone")
    });
    mixed("judges", &judges).into_iter().chain(mixed("prompt versions", &versions)).chain(together).collect()
}

/// Mean of at least one value.
fn mean(values: &[f64]) -> f64 {
    karat_stats::describe::mean(values).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the values are exact")]
mod tests {
    use super::*;

    fn row(date: &str, judge: &str, made_at: i64, composite: f64) -> Judged {
        Judged {
            sample: date.to_owned(),
            date: Some(date.to_owned()),
            system: "published".to_owned(),
            trial: 0,
            judge: Some(judge.to_owned()),
            judge_model: Some(format!("{judge}-v1")),
            prompt_version: Some("v1".to_owned()),
            made_at: Moment(made_at),
            run: format!("run-{made_at}"),
            source: "cards".to_owned(),
            metric: "quality.composite".to_owned(),
            composite,
            axes: vec![("novelty".to_owned(), composite)],
            notes: String::new(),
            caps: Vec::new(),
        }
    }

    /// BR-08, BR-17: judging again replaces the row of that judge and prompt version, and no other.
    #[test]
    fn the_latest_row_of_a_judge_stands() {
        let mut history = History::default();
        for row in [row("2026-03-01", "a", 2, 4.0), row("2026-03-01", "a", 1, 1.0), row("2026-03-01", "b", 1, 3.0)] {
            history.add(JudgedCell::of(row));
        }
        history.add(JudgedCell::of(Judged { prompt_version: Some("v2".to_owned()), ..row("2026-03-01", "a", 1, 2.0) }));
        let composites: Vec<f64> = history.rows().map(|row| row.composite).collect();
        assert_eq!(composites, [4.0, 2.0, 3.0]);
        // BR-13: of a date, the latest row counts, whoever judged.
        assert_eq!(history.series()["published"][0].value(), 4.0);
    }

    /// BR-13, BR-17, CL-16: judges of one run are one grade, which a later run of one of them replaces; who asks for one judge
    /// gets that one.
    #[test]
    fn judges_of_one_run_are_one_grade() {
        let rows = vec![row("2026-03-01", "b", 1, 2.0), row("2026-03-01", "a", 1, 4.0)];
        let together = Some(united(row("2026-03-01", "", 1, 3.0), &rows));
        let cell = JudgedCell { rows, together, content: BTreeMap::new() };
        let day = |cells: &[JudgedCell]| {
            let mut history = History::default();
            cells.iter().for_each(|cell| history.add(cell.clone()));
            assert_eq!(history.len(), 2.min(cells.iter().map(|cell| cell.rows.len()).sum()));
            let day = history.series().remove("published").unwrap().remove(0);
            (day.value(), day.judges.into_iter().collect::<Vec<_>>())
        };
        assert_eq!(day(std::slice::from_ref(&cell)), (3.0, vec!["a-v1 + b-v1".to_owned()]));
        let again = JudgedCell::of(row("2026-03-01", "a", 2, 5.0));
        assert_eq!(day(&[cell.clone(), again]), (5.0, vec!["a-v1".to_owned()]));
        let choice = Choice { judge: Some("a".to_owned()), ..Choice::default() };
        assert_eq!(day(&[cell.clone().chosen(&choice).unwrap()]), (4.0, vec!["a-v1".to_owned()]));
        assert_eq!(cell.chosen(&Choice { judge: Some("c".to_owned()), ..choice }), None);
    }

    #[test]
    fn a_choice_takes_dates_judges_and_versions() {
        let row = row("2026-03-05", "a", 1, 4.0);
        let choice = |since: &str, until: &str, judge: Option<&str>| Choice {
            since: Some(since.to_owned()),
            until: Some(until.to_owned()),
            judge: judge.map(str::to_owned),
            ..Choice::default()
        };
        assert!(choice("2026-03-05", "2026-03-05", None).takes(&row));
        assert!(!choice("2026-03-06", "2026-03-09", None).takes(&row));
        assert!(choice("2026-03-01", "2026-03-09", Some("a-v1")).takes(&row));
        assert!(!choice("2026-03-01", "2026-03-09", Some("b")).takes(&row));
        assert!(!choice("2026-03-01", "2026-03-09", None).takes(&Judged { date: None, ..row }));
    }

    /// BR-13, BR-14: every system has a series of its own; a system is chosen by its id, its model or its variant.
    #[test]
    fn each_system_has_its_days() {
        let mut history = History::default();
        for (system, composite) in [("gpt-5/raw", 4.0), ("gpt-5/rag", 2.0)] {
            for date in ["2026-03-01", "2026-03-02"] {
                history.add(JudgedCell::of(Judged { system: system.to_owned(), ..row(date, "a", 1, composite) }));
            }
        }
        let values = |days: &Vec<Day>| days.iter().map(Day::value).collect::<Vec<_>>();
        assert_eq!(history.series().values().map(values).collect::<Vec<_>>(), [[2.0, 2.0], [4.0, 4.0]]);
        let taken = |name: &str| {
            let choice = Choice { system: Some(name.to_owned()), ..Choice::default() };
            history.rows().filter(|row| choice.takes(row)).count()
        };
        assert_eq!(["gpt-5/raw", "raw", "gpt-5", "gpt", ""].map(taken), [2, 2, 4, 0, 0]);
    }
}
