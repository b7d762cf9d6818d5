//! The rows that stand for a suite, out of all of its stored runs. Makes no call.

use std::collections::BTreeSet;
use std::sync::Arc;

use karat_analysis::drift::day_number;
use karat_analysis::{History, RowFilter, for_each_graded, source_of};
use karat_store::Store;
use karat_suite::Files;
use karat_types::{PlanHeader, RunRows};

use crate::error::{Names, StoredError};
use crate::preset::SuiteFiles;
use crate::{App, AppError, Invocation, load};

/// Which rows of which suite.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// A suite file, a preset, the name of a suite that has stored runs, or one of its runs.
    pub suite: String,
    /// Which rows.
    pub choice: RowFilter,
}

/// Rows of a suite.
#[derive(Debug, Clone)]
pub struct Rows {
    /// The suite's name.
    pub suite: String,
    /// The rows.
    pub history: History,
}

impl Rows {
    /// One JSON object a row, in a list.
    pub fn json(&self) -> String {
        karat_report::json::history(self.history.latest())
    }

    /// Tab-separated values, with a header.
    pub fn tsv(&self) -> String {
        karat_report::tsv::history(self.history.latest())
    }

    /// Names and texts of a table.
    pub fn table(&self) -> (Vec<String>, Vec<Vec<String>>) {
        karat_report::tsv::table(self.history.latest())
    }
}

impl App {
    /// The rows of one run as JSON lines, where its suite wants them on stdout instead of the report.
    ///
    /// # Errors
    /// A run that cannot be read.
    pub fn printed_rows(&self, run: &str) -> Result<Option<String>, AppError> {
        let stored = self.stored(run)?;
        if !stored.header().plan.run.prints_rows {
            return Ok(None);
        }
        let mut rows = Vec::new();
        for_each_graded(&stored, None, &mut |cell| rows.extend(cell.rows))?;
        Ok(Some(karat_report::json::history_lines(rows.iter())))
    }

    /// The rows that stand for a suite.
    ///
    /// # Errors
    /// A suite that is unknown or has no run; a date that is none.
    pub fn history(&self, asked: &Asked) -> Result<Rows, AppError> {
        let store = self.existing_store()?;
        let suite = self.suite_name(&store, &asked.suite)?;
        let history = collect(&store, &suite, &asked.choice, None)?;
        Ok(Rows { suite, history })
    }

    /// The sources of stored rows that the params mean, where they choose other ones than the suite itself.
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
        let without = Invocation { params: Vec::new(), ..invocation.clone() };
        if invocation.params.is_empty() || self.load(&without).is_ok_and(|it| source_of(&it.plan.header) == own) {
            return Ok(None);
        }
        let mut stored = BTreeSet::new();
        for run in store.runs_of_suite(&plan.suite, usize::MAX)? {
            stored.insert(source_of(&store.run(&run)?.plan));
        }
        let is_meant = |source: &String| *source == own || is_one_place(source, &own);
        let chosen: BTreeSet<String> = stored.iter().filter(|source| is_meant(source)).cloned().collect();
        if chosen.is_empty() && !stored.is_empty() {
            let (suite, stored) = (plan.suite.clone(), Names::of(stored));
            return Err(StoredError::NoRunsOfData { suite, own: own.to_string(), stored }.into());
        }
        Ok(Some(chosen))
    }

    /// Whether a word means a suite, and not one of its runs.
    pub fn is_suite(&self, word: &str) -> bool {
        let run = self.existing_store().is_ok_and(|store| store.resolve(word).is_ok());
        !run && (load::find(word, &SuiteFiles).is_ok() || self.has_runs(word))
    }

    fn has_runs(&self, suite: &str) -> bool {
        let runs = self.existing_store().and_then(|store| Ok(store.runs_of_suite(suite, 1)?));
        runs.is_ok_and(|runs| !runs.is_empty())
    }

    /// The name of the suite that is meant.
    pub(crate) fn suite_name(&self, store: &Store, word: &str) -> Result<String, AppError> {
        let files: Arc<dyn Files> = Arc::new(SuiteFiles);
        match load::find(word, &*files) {
            Ok(path) => Ok(karat_suite::name_of(files, &path)?),
            Err(unknown) if store.runs_of_suite(word, 1)?.is_empty() => match store.resolve(word) {
                Ok(run) => Ok(store.run(&run)?.plan.suite.clone()),
                Err(_) => Err(unknown),
            },
            Err(_) => Ok(word.to_owned()),
        }
    }
}

/// Whether two paths lead to one place.
fn is_one_place(one: &str, other: &str) -> bool {
    std::fs::canonicalize(one).is_ok_and(|one| std::fs::canonicalize(other).is_ok_and(|other| one == other))
}

/// The plan of a suite's newest run.
pub(crate) fn newest_plan(store: &Store, suite: &str) -> Result<Arc<PlanHeader>, AppError> {
    match store.runs_of_suite(suite, 1)?.first() {
        Some(run) => Ok(store.run(run)?.plan),
        None => Err(without_runs(suite)),
    }
}

fn without_runs(suite: &str) -> AppError {
    StoredError::NoRuns { suite: suite.to_owned() }.into()
}

/// The rows of a suite: of its primary metric, or of the one that is named.
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
        return Err(without_runs(suite));
    }
    let mut history = History::default();
    // The oldest first: where a row was taken over by later runs, the run that made it stands.
    for run in runs.iter().rev() {
        let rows = store.rows(run)?;
        let read = for_each_graded(&rows, metric, &mut |cell| {
            cell.select(choice).into_iter().for_each(|cell| history.add(cell))
        });
        read?;
    }
    Ok(history)
}

/// The rows of a suite, for a question that must not be answered with "nothing" because a name is mistyped.
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
    known("--judge", choice.judge.as_ref(), judges)?;
    let versions = all.rows().filter_map(|row| row.prompt_version.as_ref());
    known("--prompt-version", choice.prompt_version.as_ref(), versions)?;
    let of_system = RowFilter { system: choice.system.clone(), ..RowFilter::default() };
    if !all.rows().any(|row| of_system.matches(row)) {
        known("--system", choice.system.as_ref(), all.rows().map(|row| &row.system))?;
    }
    Ok(history)
}

/// Refuses a name that is not among those of the stored rows, where there are any.
fn known<'a>(flag: &str, name: Option<&String>, stored: impl Iterator<Item = &'a String>) -> Result<(), AppError> {
    let stored: BTreeSet<&str> = stored.map(String::as_str).collect();
    match name {
        Some(name) if !stored.is_empty() && !stored.contains(name.as_str()) => {
            let stored = Names::of(stored);
            Err(StoredError::NotJudged { flag: flag.to_owned(), name: name.clone(), stored }.into())
        }
        _ => Ok(()),
    }
}

/// Refuses what is no date.
pub(crate) fn check_date(flag: &str, date: &str) -> Result<(), AppError> {
    if date.len() == 10 && day_number(date).is_some() {
        return Ok(());
    }
    Err(StoredError::BadDate { flag: flag.to_owned(), date: date.to_owned() }.into())
}
