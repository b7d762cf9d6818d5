//! The page of runs: all runs that a query selects, fifty at a time, each with its verdict and headline.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use karat_analysis::system_id;
use karat_store::{RunSummary, Store};
use karat_types::{Moment, PlanHeader, RunRows, RunStatus};

use crate::AppError;
use crate::stored::figures::{RunFigures, all_kept_figures, kept_figures};
use crate::stored::run::{count_done, is_dated};
use crate::views::Views;
use crate::views::patience;
use crate::views::query::Cursor;
use crate::views::show::runs::run_notes;

/// Rows of a page.
const ROWS: usize = 50;

/// Runs of a suite that a row draws as a line.
const TREND: usize = 20;

/// Time that a page may take to compute figures that the store does not keep yet.
const PATIENCE: Duration = Duration::from_millis(150);

/// Cells of a run whose figures a page computes itself; those of larger runs are computed beside it.
const SMALL: u64 = 2_000;

/// The runs that a reader asks for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunsQuery {
    /// Only runs with these words in the id or the name of the suite.
    pub words: String,
    /// Only runs of one of these suites.
    pub suites: Vec<String>,
    /// Only runs with one of these states: of the run (`finished`), or of its verdict (`fail`).
    pub states: Vec<String>,
    /// Only runs of a system with these words in its name.
    pub system: String,
    /// Only runs that started at this moment or later.
    pub since: Option<Moment>,
    /// The order; newest first if absent.
    pub order: Option<RunOrder>,
}

/// An order of runs, and true for the largest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunOrder {
    /// The column.
    pub by: RunColumn,
    /// True for the largest first.
    pub descending: bool,
}

/// A column that runs can be sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunColumn {
    /// Time of the start.
    Started,
    /// Name of the suite.
    Suite,
    /// Id of the run.
    Name,
    /// Dollars paid.
    Cost,
    /// Time from start to end.
    Duration,
    /// Cells.
    Cells,
    /// Cells that ended in an error.
    Errors,
    /// The headline metric, where the store keeps it.
    Headline,
}

impl RunColumn {
    /// All columns with their names in addresses.
    pub const ALL: [(Self, &'static str); 8] = [
        (Self::Started, "started"),
        (Self::Suite, "suite"),
        (Self::Name, "name"),
        (Self::Cost, "cost"),
        (Self::Duration, "duration"),
        (Self::Cells, "cells"),
        (Self::Errors, "errors"),
        (Self::Headline, "headline"),
    ];
}

/// A run in the list.
#[derive(Debug, Clone)]
pub struct RunEntry {
    /// Its id.
    pub id: String,
    /// The suite.
    pub suite: String,
    /// Its status.
    pub status: RunStatus,
    /// Start and end.
    pub started_at: Moment,
    /// Its end.
    pub completed_at: Option<Moment>,
    /// The systems: model and variant.
    pub systems: Vec<String>,
    /// Cells of its plan.
    pub planned: u64,
    /// Finished cells.
    pub cells: u64,
    /// Cells that ended in an error.
    pub errors: u64,
    /// Dollars that the run paid.
    pub cost_usd: f64,
    /// Calls whose price is unknown, so that the run paid more.
    pub unpriced: u64,
    /// True if every model and judge was simulated, so that the cost was not billed.
    pub is_simulated: bool,
    /// Verdict and headline; `None` while they are not computed.
    pub figures: Option<RunFigures>,
    /// Headline values of the suite's last runs up to this one, oldest first.
    pub trend: Vec<Option<f64>>,
    /// The request of the run beside its suite, such as a part of its rows, and what changed since the suite's run before.
    pub notes: Vec<String>,
}

/// A part of the runs that a query selects.
#[derive(Debug, Clone, Default)]
pub struct RunsPage {
    /// The rows, in the query's order.
    pub rows: Vec<RunEntry>,
    /// Runs of the whole list.
    pub total: u64,
    /// Position of the first shown row, from 0.
    pub start: u64,
    /// Number of stored runs.
    pub stored: u64,
    /// Names of all suites with the number of their runs.
    pub suites: BTreeMap<String, u64>,
    /// The suite that the query names, and whether its samples have dates; `None` if it names none or several.
    pub suite: Option<(String, bool)>,
    /// Shown runs whose figures are not computed yet.
    pub waiting: u64,
    /// Id of the run before which the previous page ends, if there is one.
    pub before: Option<String>,
    /// Id of the run after which the next page begins, if there is one.
    pub after: Option<String>,
}

impl Views<'_> {
    /// A part of the stored runs. A cursor names the id of a run; one that the list does not have means the first rows.
    ///
    /// # Errors
    /// The list of runs cannot be read. A store that does not exist is an empty list.
    pub fn runs_page(&self, query: &RunsQuery, at: &Cursor<String>) -> Result<RunsPage, AppError> {
        if !self.app.store.exists() {
            self.app.store.check_orphans()?;
            return Ok(RunsPage::default());
        }
        let store = self.app.store_to_read()?;
        let runs = store.runs(usize::MAX)?;
        let kept: HashMap<String, RunFigures> = all_kept_figures(&store)?.into_iter().collect();
        let mut page = RunsPage { stored: runs.len() as u64, ..RunsPage::default() };
        for run in &runs {
            *page.suites.entry(run.suite.clone()).or_default() += 1;
        }
        let mut listed: Vec<&RunSummary> = Vec::new();
        for run in runs.iter().filter(|run| query.matches(run, kept.get(&run.id))) {
            if query.system.trim().is_empty() || query.has_system(&store.rows(&run.id)?.header().plan) {
                listed.push(run);
            }
        }
        if let Some(order) = query.order {
            listed.sort_by(|a, b| order.compare(a, b, &kept));
        }
        page.total = listed.len() as u64;
        let position = |id: &String| listed.iter().position(|run| run.id == *id);
        let start = match at {
            Cursor::Start => 0,
            Cursor::After(id) => position(id).map_or(0, |at| at + 1),
            Cursor::Before(id) => position(id).map_or(0, |at| at.saturating_sub(ROWS)),
        };
        let shown = listed.get(start..listed.len().min(start + ROWS)).unwrap_or_default();
        page.start = start as u64;
        page.before = shown.first().filter(|_| start > 0).map(|run| run.id.clone());
        page.after = shown.last().filter(|_| start + shown.len() < listed.len()).map(|run| run.id.clone());
        let until = patience::now() + PATIENCE;
        let mut large = Vec::new();
        for run in shown {
            let figures = match kept_figures(&store.rows(&run.id)?)? {
                Some(figures) => Some(figures),
                None if run.totals.cells == 0 => Some(RunFigures::default()),
                // A run that cannot be analysed is still listed; its page says why.
                None if run.totals.cells <= SMALL && patience::now() < until => {
                    Some(self.app.analysis().run_figures(&run.id).unwrap_or_default())
                }
                None => {
                    large.push((run.id.clone(), run.status));
                    None
                }
            };
            let at = runs.iter().position(|it| it.id == run.id).unwrap_or_default();
            page.rows.push(entry(&store, runs.get(at..).unwrap_or_default(), run, figures)?);
        }
        if let ([suite], Some(newest)) = (query.suites.as_slice(), listed.first()) {
            page.suite = Some((suite.clone(), is_dated(&store.rows(&newest.id)?)?));
        }
        page.waiting = large.iter().filter(|(_, status)| *status != RunStatus::Running).count() as u64;
        self.compute_beside(large);
        let computed: HashMap<&str, &RunFigures> =
            page.rows.iter().filter_map(|row| Some((row.id.as_str(), row.figures.as_ref()?))).collect();
        let trends: Vec<_> = page.rows.iter().map(|row| trend(&runs, row, &kept, &computed)).collect();
        page.rows.iter_mut().zip(trends).for_each(|(row, trend)| row.trend = trend);
        Ok(page)
    }

    /// Computes figures of large runs in the background, one run after the other; the store keeps them for the next page.
    fn compute_beside(&self, runs: Vec<(String, RunStatus)>) {
        let runs: Vec<String> =
            runs.into_iter().filter(|(_, status)| *status != RunStatus::Running).map(|(run, _)| run).collect();
        if runs.is_empty() {
            return;
        }
        let Some(turn) = self.app.opened.views().figures_turn() else { return };
        let app = self.app.clone();
        std::thread::spawn(move || {
            for run in runs {
                // The page of a run that cannot be analysed says why.
                let _ = app.analysis().run_figures(&run);
            }
            drop(turn);
        });
    }
}

impl RunsQuery {
    fn matches(&self, run: &RunSummary, figures: Option<&RunFigures>) -> bool {
        let words = self.words.trim().to_lowercase();
        let verdict = figures.and_then(|figures| figures.verdict.as_deref());
        let is_state = |state: &String| state == run_state(run.status) || Some(state.as_str()) == verdict;
        (words.is_empty() || run.id.to_lowercase().contains(&words) || run.suite.to_lowercase().contains(&words))
            && (self.suites.is_empty() || self.suites.contains(&run.suite))
            && (self.states.is_empty() || self.states.iter().any(is_state))
            && self.since.is_none_or(|since| run.started_at >= since)
    }

    fn has_system(&self, plan: &PlanHeader) -> bool {
        let words = self.system.trim().to_lowercase();
        (0..plan.systems.len()).any(|system| system_id(plan, system).to_lowercase().contains(&words))
    }
}

/// The start of a day in UTC; `None` if the text is not a date such as `2026-01-31`.
pub fn start_of_day(date: &str) -> Option<Moment> {
    let date: jiff::civil::Date = date.parse().ok()?;
    Some(Moment(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond()))
}

/// The name of a run's status in addresses.
pub fn run_state(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "running",
        RunStatus::Finished => "finished",
        RunStatus::Interrupted => "interrupted",
        RunStatus::BudgetStopped => "budget-stopped",
    }
}

impl RunOrder {
    /// Compares two runs; those without a value stand last in both directions, ties newest first.
    fn compare(self, a: &RunSummary, b: &RunSummary, kept: &HashMap<String, RunFigures>) -> Ordering {
        let turned = |order: Ordering| if self.descending { order.reverse() } else { order };
        let headline = |run: &RunSummary| kept.get(&run.id)?.headline.as_ref()?.value;
        let duration = |run: &RunSummary| run.completed_at.map(|end| (end.0 - run.started_at.0) as f64);
        let numbers = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => turned(a.total_cmp(&b)),
            (a, b) => b.is_some().cmp(&a.is_some()),
        };
        match self.by {
            RunColumn::Started => turned(a.started_at.cmp(&b.started_at)),
            RunColumn::Suite => turned(a.suite.cmp(&b.suite)),
            RunColumn::Name => turned(a.id.cmp(&b.id)),
            RunColumn::Cost => turned(a.totals.spending.spent.cmp(&b.totals.spending.spent)),
            RunColumn::Duration => numbers(duration(a), duration(b)),
            RunColumn::Cells => turned(a.totals.cells.cmp(&b.totals.cells)),
            RunColumn::Errors => turned(a.totals.errors.cmp(&b.totals.errors)),
            RunColumn::Headline => numbers(headline(a), headline(b)),
        }
    }
}

/// The row of a run; `runs` begins with it, the newest first.
fn entry(
    store: &Store,
    runs: &[RunSummary],
    run: &RunSummary,
    figures: Option<RunFigures>,
) -> Result<RunEntry, AppError> {
    let rows = store.rows(&run.id)?;
    let plan = &rows.header().plan;
    Ok(RunEntry {
        id: run.id.clone(),
        suite: run.suite.clone(),
        status: run.status,
        started_at: run.started_at,
        completed_at: run.completed_at,
        systems: (0..plan.systems.len()).map(|system| system_id(plan, system)).collect(),
        planned: run.planned,
        cells: count_done(store, run, plan)?,
        errors: run.totals.errors,
        cost_usd: run.totals.spending.spent.usd(),
        unpriced: run.totals.spending.unpriced,
        is_simulated: plan.is_simulated(),
        figures,
        trend: Vec::new(),
        notes: run_notes(store, runs, rows.header())?,
    })
}

/// Headline values of the suite's last runs up to a run, oldest first: of the metric that the run shows.
fn trend(
    runs: &[RunSummary],
    row: &RunEntry,
    kept: &HashMap<String, RunFigures>,
    computed: &HashMap<&str, &RunFigures>,
) -> Vec<Option<f64>> {
    let Some(metric) = row.figures.as_ref().and_then(|figures| Some(&figures.headline.as_ref()?.metric)) else {
        return Vec::new();
    };
    let value = |run: &RunSummary| {
        let figures = computed.get(run.id.as_str()).copied().or_else(|| kept.get(&run.id))?;
        figures.headline.as_ref().filter(|headline| headline.metric == *metric)?.value
    };
    let of_suite = runs.iter().skip_while(|run| run.id != row.id).filter(|run| run.suite == row.suite).take(TREND);
    let mut values: Vec<Option<f64>> = of_suite.map(value).collect();
    values.reverse();
    values
}
