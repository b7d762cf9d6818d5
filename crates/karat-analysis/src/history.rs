//! The history of a suite: the grades that stand for each sample, whichever run gave them (BR-08).
//!
//! A row stands until the same judge grades the same sample under the same prompt version again. Rows of another judge
//! or prompt version stand beside it. What failed replaces nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use karat_types::{CellRow, CellStatus, Moment, PlanHeader, RunRows, ScorerKind};

use crate::AnalysisError;
use crate::groups::system_id;
use crate::pass::primary;

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
    /// The model that judged.
    pub judge_model: Option<String>,
    /// Declared version of the rubric.
    pub prompt_version: Option<String>,
    /// When the run began that gave the grades.
    pub made_at: Moment,
    /// That run, or one that took the grades over from it.
    pub run: String,
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
}

impl Choice {
    /// Whether a row is meant.
    pub fn takes(&self, row: &Judged) -> bool {
        let at_least = |bound: &Option<String>| bound.as_ref().is_none_or(|bound| row.date.as_ref() >= Some(bound));
        let at_most = self.until.as_ref().is_none_or(|bound| row.date.as_ref().is_some_and(|date| date <= bound));
        let judge = self.judge.as_ref().is_none_or(|judge| is_judge(judge, row));
        let version = self.prompt_version.is_none() || self.prompt_version == row.prompt_version;
        at_least(&self.since) && at_most && judge && version
    }
}

/// Whether a name means the judge of a row.
fn is_judge(name: &str, row: &Judged) -> bool {
    [&row.judge, &row.judge_model].into_iter().flatten().any(|known| known == name)
}

/// The metric of a run that rows are made of, and its scorer's other figures.
struct Graded {
    scorer: usize,
    metric: usize,
    /// Dimension and metric index.
    axes: Vec<(String, usize)>,
    by_judges: bool,
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
        })
    }
}

/// Calls `each` with every grade of a run: by its primary metric, or by the one that is named. A run that does not have
/// it gives none.
///
/// # Errors
/// Rows that cannot be read.
pub fn judged(rows: &dyn RunRows, metric: Option<&str>, each: &mut dyn FnMut(Judged)) -> Result<(), AnalysisError> {
    let header = rows.header();
    let plan = header.plan.clone();
    let Some(graded) = Graded::of(&plan, metric) else { return Ok(()) };
    let read = rows.for_each(&mut |row| {
        if row.cell.status == CellStatus::Ok {
            of_cell(&plan, &header.id, header.started_at, &graded, &row, each);
        }
        ControlFlow::Continue(())
    });
    read.map_err(|source| AnalysisError::Rows { run: header.id.clone(), source })
}

fn of_cell(
    plan: &PlanHeader,
    run: &str,
    started_at: Moment,
    graded: &Graded,
    row: &CellRow<'_>,
    each: &mut dyn FnMut(Judged),
) {
    let base = |composite, axes| Judged {
        sample: row.sample.id.clone(),
        date: row.sample.date.clone(),
        system: system_id(plan, row.system),
        trial: row.trial,
        judge: None,
        judge_model: None,
        prompt_version: None,
        made_at: row.cell.made_at.unwrap_or(started_at),
        run: run.to_owned(),
        metric: plan.metrics.get(graded.metric).map(|it| it.name.clone()).unwrap_or_default(),
        composite,
        axes,
        notes: String::new(),
        caps: Vec::new(),
    };
    let figures = |scores: &[(u16, karat_types::Score)]| {
        let number = |wanted: usize| scores.iter().find(|(at, _)| usize::from(*at) == wanted)?.1.number();
        let axes = graded.axes.iter().filter_map(|(name, at)| Some((name.clone(), number(*at)?)));
        Some((number(graded.metric)?, axes.collect()))
    };
    if !graded.by_judges {
        figures(&row.cell.scores).into_iter().for_each(|(composite, axes)| each(base(composite, axes)));
        return;
    }
    for judgment in row.judgments.iter().filter(|judgment| usize::from(judgment.scorer) == graded.scorer) {
        let Some((composite, axes)) = figures(&judgment.scores) else { continue };
        let judge = plan.judges.get(usize::from(judgment.judge));
        each(Judged {
            judge: judge.map(|judge| judge.id.clone()),
            judge_model: judge.map(|judge| judge.model.clone()),
            prompt_version: judgment.prompt_version.clone(),
            made_at: judgment.made_at.unwrap_or(started_at),
            notes: judgment.reasoning.clone(),
            caps: judgment.caps.clone(),
            ..base(composite, axes)
        });
    }
}

/// What a row stands for: another row of the same place replaces it.
type Place = (Option<String>, String, String, u32, Option<String>, Option<String>);

/// The rows that stand, by date and sample.
#[derive(Debug, Clone, Default)]
pub struct History {
    rows: BTreeMap<Place, Judged>,
}

impl History {
    /// Takes a row. Of one place the later one stands; of equally late ones the one that was taken first.
    pub fn add(&mut self, row: Judged) {
        let place = (
            row.date.clone(),
            row.sample.clone(),
            row.system.clone(),
            row.trial,
            row.judge_model.clone(),
            row.prompt_version.clone(),
        );
        match self.rows.get(&place) {
            Some(known) if known.made_at >= row.made_at => {}
            _ => {
                self.rows.insert(place, row);
            }
        }
    }

    /// The rows, by date, then sample.
    pub fn rows(&self) -> impl Iterator<Item = &Judged> {
        self.rows.values()
    }

    /// How many rows stand.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// One figure a date: the latest row of each sample, whoever judged, and their mean where a day has several
    /// samples. Rows without a date are left out.
    pub fn days(&self) -> Vec<Day> {
        let mut latest: BTreeMap<(&str, &str, &str, u32), &Judged> = BTreeMap::new();
        for row in self.rows.values() {
            let Some(date) = row.date.as_deref() else { continue };
            let known = latest.entry((date, &row.sample, &row.system, row.trial)).or_insert(row);
            if row.made_at > known.made_at {
                *known = row;
            }
        }
        let mut days: Vec<Day> = Vec::new();
        for ((date, ..), row) in latest {
            match days.last_mut().filter(|day| day.date == date) {
                Some(day) => day.add(row),
                None => {
                    let mut day = Day::on(date);
                    day.add(row);
                    days.push(day);
                }
            }
        }
        days
    }
}

/// What a day's samples got together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Day {
    /// The date, YYYY-MM-DD.
    pub date: String,
    composites: Vec<f64>,
    axes: BTreeMap<String, Vec<f64>>,
    /// Models that judged.
    pub judges: BTreeSet<String>,
    /// Their prompt versions.
    pub prompt_versions: BTreeSet<String>,
    /// When the latest of its grades were given.
    pub made_at: Moment,
}

impl Day {
    fn add(&mut self, row: &Judged) {
        self.composites.push(row.composite);
        for (axis, value) in &row.axes {
            self.axes.entry(axis.clone()).or_default().push(*value);
        }
        self.judges.extend(row.judge_model.clone());
        self.prompt_versions.extend(row.prompt_version.clone());
        self.made_at = self.made_at.max(row.made_at);
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
            history.add(row);
        }
        history.add(Judged { prompt_version: Some("v2".to_owned()), ..row("2026-03-01", "a", 1, 2.0) });
        let composites: Vec<f64> = history.rows().map(|row| row.composite).collect();
        assert_eq!(composites, [4.0, 2.0, 3.0]);
        // BR-13: of a date, the latest row counts, whoever judged.
        assert_eq!(history.days()[0].value(), 4.0);
    }

    #[test]
    fn a_choice_takes_dates_judges_and_versions() {
        let row = row("2026-03-05", "a", 1, 4.0);
        let choice = |since: &str, until: &str, judge: Option<&str>| Choice {
            since: Some(since.to_owned()),
            until: Some(until.to_owned()),
            judge: judge.map(str::to_owned),
            prompt_version: None,
        };
        assert!(choice("2026-03-05", "2026-03-05", None).takes(&row));
        assert!(!choice("2026-03-06", "2026-03-09", None).takes(&row));
        assert!(choice("2026-03-01", "2026-03-09", Some("a-v1")).takes(&row));
        assert!(!choice("2026-03-01", "2026-03-09", Some("b")).takes(&row));
        assert!(!choice("2026-03-01", "2026-03-09", None).takes(&Judged { date: None, ..row }));
    }
}
