//! The judged rows of a suite, from all of its stored runs. Makes no API calls.

use std::collections::BTreeSet;

use karat_analysis::drift::day_number;
use karat_analysis::{History, RowFilter, for_each_graded, source_of};
use karat_store::Store;
use karat_types::{PlanHeader, RunRows};

use crate::analysis::Analysis;
use crate::error::{Names, StoredError};
use crate::stored::run::no_runs;
use crate::{AppError, Invocation};

/// The request for the rows of a suite.
#[derive(Debug, Clone, Default)]
pub struct RowsRequest {
    /// A suite file, a preset, the name of a suite with stored runs, or one of its runs.
    pub suite: String,
    /// The filter of rows.
    pub choice: RowFilter,
}

/// The rows of a suite.
#[derive(Debug, Clone)]
pub struct SuiteRows {
    /// The suite's name.
    pub suite: String,
    /// The rows.
    pub history: History,
}

impl SuiteRows {
    /// Warnings about the rows, and a note on golden checks among them.
    pub fn warnings(&self) -> Vec<String> {
        self.history.warnings().into_iter().chain(self.history.golden_check_note()).collect()
    }

    /// A JSON list with one object per row.
    pub fn json(&self) -> String {
        karat_report::json::history(self.history.with_golden_checks())
    }

    /// Tab-separated values, with a header.
    pub fn tsv(&self) -> String {
        karat_report::tsv::history(self.history.with_golden_checks())
    }

    /// Column names and cells of a table.
    pub fn table(&self) -> (Vec<String>, Vec<Vec<String>>) {
        karat_report::tsv::table(self.history.with_golden_checks())
    }
}

impl Analysis<'_> {
    /// The rows of one run as JSON lines, if its suite prints them instead of the report.
    ///
    /// # Errors
    /// The run cannot be read.
    pub fn printed_rows(&self, run: &str) -> Result<Option<String>, AppError> {
        let stored = self.app.stored().run(run)?;
        if !stored.header().plan.run.prints_rows {
            return Ok(None);
        }
        let mut rows = Vec::new();
        for_each_graded(&stored, None, &mut |cell| rows.extend(cell.rows))?;
        Ok(Some(karat_report::json::history_lines(rows.iter())))
    }

    /// The rows of a suite.
    ///
    /// # Errors
    /// An unknown suite or one without runs; an invalid date.
    pub fn history(&self, asked: &RowsRequest) -> Result<SuiteRows, AppError> {
        let store = self.app.existing_store()?;
        let suite = self.app.stored().suite_name(&store, &asked.suite)?;
        let history = collect(&store, &suite, &asked.choice, None)?;
        Ok(SuiteRows { suite, history })
    }

    /// The stored sources that the params select, if they differ from the suite's own.
    ///
    /// # Errors
    /// No stored run has read them.
    pub(crate) fn chosen_sources(
        &self,
        store: &Store,
        invocation: &Invocation,
        plan: &PlanHeader,
    ) -> Result<Option<BTreeSet<String>>, AppError> {
        let own = source_of(plan);
        let mut without = invocation.clone();
        without.overrides.params.clear();
        if invocation.overrides.params.is_empty()
            || self.app.project().load(&without.on_any_day()).is_ok_and(|it| source_of(&it.header) == own)
        {
            return Ok(None);
        }
        let mut stored = BTreeSet::new();
        for run in store.runs_of_suite(&plan.suite, usize::MAX)? {
            stored.insert(source_of(&store.run(&run)?.plan));
        }
        let is_meant = |source: &String| *source == own || has_one_source(source, &own);
        let chosen: BTreeSet<String> = stored.iter().filter(|source| is_meant(source)).cloned().collect();
        if chosen.is_empty() && !stored.is_empty() {
            let (suite, stored) = (plan.suite.clone(), Names::of(stored));
            return Err(StoredError::NoRunsOfData { suite, own: own.to_string(), stored }.into());
        }
        Ok(Some(chosen))
    }
}

/// Returns whether two paths lead to the same place.
fn has_one_source(one: &str, other: &str) -> bool {
    std::fs::canonicalize(one).is_ok_and(|one| std::fs::canonicalize(other).is_ok_and(|other| one == other))
}

/// The rows of a suite for its primary metric, or for the named one.
pub(crate) fn collect(
    store: &Store,
    suite: &str,
    choice: &RowFilter,
    metric: Option<&str>,
) -> Result<History, AppError> {
    for (flag, date) in [("--since", &choice.since), ("--until", &choice.until)] {
        date.as_deref().map_or(Ok(()), |date| check_date(flag, date))?;
    }
    if let (Some(since), Some(until)) = (&choice.since, &choice.until)
        && since > until
    {
        return Err(StoredError::EmptyRange { since: since.clone(), until: until.clone() }.into());
    }
    let runs = store.runs_of_suite(suite, usize::MAX)?;
    if runs.is_empty() {
        return Err(no_runs(suite));
    }
    let mut history = History::default();
    // The oldest run first: a reused row keeps the run that made it.
    for run in runs.iter().rev() {
        let rows = store.rows(run)?;
        let read = for_each_graded(&rows, metric, &mut |cell| {
            cell.select(choice).into_iter().for_each(|cell| history.add(cell))
        });
        read?;
    }
    Ok(history)
}

/// The rows of a suite; a mistyped name is an error instead of an empty answer.
pub(crate) fn collect_named(
    store: &Store,
    suite: &str,
    choice: &RowFilter,
    metric: Option<&str>,
) -> Result<History, AppError> {
    let history = collect(store, suite, choice, metric)?;
    let is_named = [&choice.judge, &choice.prompt_version, &choice.system].iter().any(|name| name.is_some());
    if history.rows().next().is_some() || !is_named {
        return Ok(history);
    }
    let all = collect(store, suite, &RowFilter::default(), metric)?;
    let judges = all.rows().flat_map(|row| [&row.judge, &row.judge_model]).flatten();
    check_known("--judge", choice.judge.as_ref(), judges)?;
    let versions = all.rows().filter_map(|row| row.prompt_version.as_ref());
    check_known("--prompt-version", choice.prompt_version.as_ref(), versions)?;
    let of_system = RowFilter { system: choice.system.clone(), ..RowFilter::default() };
    if !all.rows().any(|row| of_system.matches(row)) {
        check_known("--system", choice.system.as_ref(), all.rows().map(|row| &row.system))?;
    }
    Ok(history)
}

/// Refuses a name that no stored row has.
fn check_known<'a>(
    flag: &str,
    name: Option<&String>,
    stored: impl Iterator<Item = &'a String>,
) -> Result<(), AppError> {
    let stored: BTreeSet<&str> = stored.map(String::as_str).collect();
    match name {
        Some(name) if !stored.is_empty() && !stored.contains(name.as_str()) => {
            let stored = Names::of(stored);
            Err(StoredError::NotJudged { flag: flag.to_owned(), name: name.clone(), stored }.into())
        }
        _ => Ok(()),
    }
}

/// Refuses an invalid date.
pub(crate) fn check_date(flag: &str, date: &str) -> Result<(), AppError> {
    if date.len() == 10 && day_number(date).is_some() {
        return Ok(());
    }
    Err(StoredError::BadDate { flag: flag.to_owned(), date: date.to_owned() }.into())
}
