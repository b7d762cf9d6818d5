//! The page of a dated suite, over its stored runs. Makes no API calls, raises no alert and stores nothing.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use karat_analysis::series::{JudgeChoice, SeriesDrift, SeriesInput, SeriesView, date_span, series_view};
use karat_analysis::{GradeRow, History, Pinned, RowFilter, for_each_graded, primary_metric, system_id};
use karat_store::Store;
use karat_suite::Files;
use karat_types::{GateRules, Moment, PlanHeader, RunHeader, RunRows};

use crate::AppError;
use crate::analysis::Analysis;
use crate::analysis::past_drift::PastDrift;
use crate::analysis::suite_rows::check_date;
use crate::error::StoredError;
use crate::project::gate_rules::read_pinned;
use crate::project::presets::SuiteFiles;
use crate::stored::invocation::read_stored_invocation;

/// The request for the page of a suite.
#[derive(Debug, Clone, Default)]
pub struct SeriesRequest {
    /// The suite's name.
    pub suite: String,
    /// A run of any suite, in place of the name: only the rows of runs that started no later count, and its own plan and gates, so that its page stays the
    /// same. Without it, all rows count, with the newest plan.
    pub run: Option<String>,
    /// The judges shown.
    pub judge: JudgeChoice,
    /// The system: its id, or its model or variant.
    pub system: Option<String>,
    /// The last day looked at, YYYY-MM-DD; the last with a row if absent.
    pub as_of: Option<String>,
    /// First date of the cards.
    pub since: Option<String>,
    /// Last date of the cards.
    pub until: Option<String>,
}

/// The page of a suite.
#[derive(Debug, Clone)]
pub struct SuiteSeries {
    /// The page as data.
    pub view: SeriesView,
    /// Parts of the request that were not understood; the defaults stand in for them.
    pub notices: Vec<String>,
}

/// The grades of a suite.
#[derive(Default)]
struct Grades {
    /// Of all judges.
    all: History,
    /// Of the chosen judge, if there is one.
    of_judge: Option<History>,
}

impl Analysis<'_> {
    /// Reads the page of a dated suite.
    ///
    /// # Errors
    /// An unknown suite or one without runs or metrics; rows or a baseline that cannot be read.
    pub fn series(&self, asked: &SeriesRequest) -> Result<SuiteSeries, AppError> {
        let store = self.app.existing_store()?;
        let own = asked.run.as_deref().map(|run| store.run(run)).transpose()?;
        // A name is never taken for a path: it comes from an address.
        let suite = own.as_ref().map_or_else(|| asked.suite.clone(), |header| header.plan.suite.clone());
        let runs = store.runs_of_suite(&suite, usize::MAX)?;
        let header = match &own {
            Some(header) => header.clone(),
            None => newest_run(&store, &runs)?.ok_or_else(|| StoredError::NoRuns { suite: suite.clone() })?,
        };
        let until = own.map(|header| header.started_at);
        let plan = header.plan.clone();
        let Some(metric) = primary_metric(&plan).and_then(|at| plan.metrics.get(at)).map(|it| it.name.clone()) else {
            return Err(StoredError::NoDates { suite }.into());
        };
        let mut notices = Vec::new();
        let mut judge = asked.judge.clone();
        let mut grades = collect(&store, &runs, &metric, until, &judge)?;
        let judges = names(&grades.all, |row| row.judge.clone());
        if let (JudgeChoice::One(name), true) = (&judge, grades.of_judge.as_ref().is_some_and(History::is_empty)) {
            notices.push(format!("no grade is by the judge `{name}`: the consensus is shown"));
            (judge, grades.of_judge) = (JudgeChoice::Consensus, None);
        }
        let systems = names(&grades.all, |row| Some(row.system.clone()));
        let system = choose_system(asked.system.as_deref(), &systems, &grades.all, &plan, &mut notices);
        let history = grades.of_judge.as_ref().unwrap_or(&grades.all);
        let mut date = |flag: &str, asked: &Option<String>| -> Option<String> {
            let asked = asked.clone().filter(|date| !date.is_empty())?;
            if check_date(flag, &asked).is_err() {
                notices.push(format!("`{flag}={asked}` is not a date such as 2026-03-18: it is not used"));
                return None;
            }
            Some(asked)
        };
        let (since, last, as_of) =
            (date("since", &asked.since), date("until", &asked.until), date("as_of", &asked.as_of));
        let span = date_span(history, &system);
        let as_of = as_of.or_else(|| span.map(|(_, last)| last)).unwrap_or_default();
        let rules = read_stored_invocation(&header)?.rules;
        let (baseline, baseline_name) = self.series_baseline(&rules, &plan)?;
        let question = PastDrift {
            plan: plan.clone(),
            metric: &metric,
            system: &system,
            series: history.series(),
            as_of: &as_of,
            judge: if let JudgeChoice::One(name) = &judge { Some(name) } else { None },
            until,
        };
        let drift = self.drift_or_notice(&store, question, &mut notices);
        let view = series_view(SeriesInput {
            history,
            plan: &plan,
            rules: &rules,
            baseline: baseline.as_ref(),
            baseline_name,
            metric: &metric,
            system: &system,
            systems,
            judge,
            judges,
            as_of: as_of.clone(),
            since,
            until: last,
            drift,
        });
        Ok(SuiteSeries { view, notices })
    }

    /// Drift without a date or with options that do not work is not a reason to show nothing.
    fn drift_or_notice(&self, store: &Store, asked: PastDrift<'_>, notices: &mut Vec<String>) -> Option<SeriesDrift> {
        if asked.as_of.is_empty() {
            return None;
        }
        self.past_drift(store, asked).map_err(|error| notices.push(error.to_string())).ok()
    }

    /// The pinned grades that the suite names, and their name or the reason why there are none.
    fn series_baseline(
        &self,
        rules: &GateRules,
        plan: &PlanHeader,
    ) -> Result<(Option<Pinned>, Option<String>), AppError> {
        let Some(path) = rules.baseline.as_deref() else { return Ok((None, None)) };
        if let Some((pinned, note)) = self.app.stored().golden_baseline(path, plan)? {
            return Ok((pinned, Some(note)));
        }
        match SuiteFiles.read(path) {
            Ok(bytes) => {
                let note = format!("the baseline is the pinned run {}", self.app.stored().shown_path(Path::new(path)));
                Ok((Some(read_pinned(path, &bytes, plan)?), Some(note)))
            }
            Err(_) => {
                let place = self.app.stored().shown_path(Path::new(path));
                Ok((None, Some(format!("there is no baseline at {place}: `karat baseline pin` makes one"))))
            }
        }
    }
}

/// The newest run that measures documents; a golden check only if there is no other.
fn newest_run(store: &Store, runs: &[String]) -> Result<Option<RunHeader>, AppError> {
    let mut newest = None;
    for run in runs {
        let header = store.run(run)?;
        if !header.plan.run.measures_judges {
            return Ok(Some(header));
        }
        newest = newest.or(Some(header));
    }
    Ok(newest)
}

/// The grades of all runs, or of those that started no later than a moment.
fn collect(
    store: &Store,
    runs: &[String],
    metric: &str,
    until: Option<Moment>,
    judge: &JudgeChoice,
) -> Result<Grades, AppError> {
    let choice = match judge {
        JudgeChoice::One(name) => Some(RowFilter { judge: Some(name.clone()), ..RowFilter::default() }),
        JudgeChoice::All | JudgeChoice::Consensus => None,
    };
    let mut grades = Grades { of_judge: choice.as_ref().map(|_| History::default()), ..Grades::default() };
    // The oldest run first: a reused row keeps the run that made it.
    for run in runs.iter().rev() {
        let rows = store.rows(run)?;
        if until.is_some_and(|until| rows.header().started_at > until) {
            continue;
        }
        for_each_graded(&rows, Some(metric), &mut |cell| {
            if let (Some(choice), Some(history)) = (&choice, &mut grades.of_judge) {
                cell.clone().select(choice).into_iter().for_each(|cell| history.add(cell));
            }
            grades.all.add(cell);
        })?;
    }
    Ok(grades)
}

/// The names that rows have, in order.
fn names(history: &History, of: impl Fn(&GradeRow) -> Option<String>) -> Vec<String> {
    history.rows().filter_map(of).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The system asked for, else the first of the plan that has grades.
fn choose_system(
    asked: Option<&str>,
    systems: &[String],
    history: &History,
    plan: &Arc<PlanHeader>,
    notices: &mut Vec<String>,
) -> String {
    if let Some(asked) = asked.filter(|asked| !asked.is_empty()) {
        let filter = RowFilter { system: Some(asked.to_owned()), ..RowFilter::default() };
        let exact = systems.iter().find(|system| *system == asked).cloned();
        let found = exact.or_else(|| history.rows().find(|row| filter.matches(row)).map(|row| row.system.clone()));
        match found {
            Some(system) => return system,
            None => notices.push(format!("no grade is of the system `{asked}`: another is shown")),
        }
    }
    let planned = (0..plan.systems.len()).map(|at| system_id(plan, at)).find(|id| systems.contains(id));
    planned.or_else(|| systems.first().cloned()).unwrap_or_default()
}
