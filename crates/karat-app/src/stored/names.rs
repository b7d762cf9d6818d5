//! Names of stored things: runs by their ids or those of their suites, cells by the ordinal in the plan or by
//! `sample/model/variant[/trial]`.

use std::sync::Arc;

use karat_store::{Store, StoreError};
use karat_suite::Files;
use karat_types::{CellRow, PlanHeader};

use crate::AppError;
use crate::error::StoredError;
use crate::project::load;
use crate::project::presets::SuiteFiles;
use crate::stored::Stored;
use crate::stored::invocation::read_stored_invocation;

/// Newest runs among which one of systems is looked for.
const SEARCHED: usize = 100;

impl Stored<'_> {
    /// Resolves an id, a prefix of one, or `latest` to a run's id.
    pub fn run_id(&self, run: &str) -> Result<String, AppError> {
        Ok(self.app.existing_store()?.resolve(run)?)
    }

    /// As [`run_id`](Self::run_id), but `latest` is the newest run of systems: a calibration of judges and a check of golden
    /// cards have none to compare, to label or to pin.
    pub fn run_of_systems(&self, run: &str) -> Result<String, AppError> {
        let store = self.app.existing_store()?;
        if run == "latest" {
            let runs = store.runs(SEARCHED)?.into_iter().map(|run| run.id);
            if let Some(run) = newest_of_systems(&store, runs)? {
                return Ok(run);
            }
        }
        Ok(store.resolve(run)?)
    }

    /// The newest run of a suite's systems.
    pub(crate) fn run_of_suite(&self, store: &Store, suite: String) -> Result<String, AppError> {
        let runs = store.runs_of_suite(&suite, SEARCHED)?;
        match newest_of_systems(store, runs.clone())?.or_else(|| runs.into_iter().next()) {
            Some(run) => Ok(run),
            None => Err(StoredError::NoRuns { suite }.into()),
        }
    }

    /// As [`run_id`](Self::run_id); the file or name of a suite, or a preset, means its newest run.
    pub fn run_of(&self, word: &str) -> Result<String, AppError> {
        let store = self.app.existing_store()?;
        match store.resolve(word) {
            Err(unknown @ StoreError::NoSuchRun { .. }) => match self.suite_name(&store, word) {
                Ok(suite) => match store.runs_of_suite(&suite, 1)?.into_iter().next() {
                    Some(run) => Ok(run),
                    None => Err(StoredError::NoRuns { suite }.into()),
                },
                Err(_) => Err(unknown.into()),
            },
            found => Ok(found?),
        }
    }
    /// Returns whether a word names a suite rather than one of its runs.
    pub fn is_suite(&self, word: &str) -> bool {
        let run = self.app.existing_store().is_ok_and(|store| store.resolve(word).is_ok());
        !run && (load::find_suite(word, &SuiteFiles).is_ok() || self.has_runs(word))
    }

    fn has_runs(&self, suite: &str) -> bool {
        let runs = self.app.existing_store().and_then(|store| Ok(store.runs_of_suite(suite, 1)?));
        runs.is_ok_and(|runs| !runs.is_empty())
    }

    /// The name of the suite that a word names.
    pub(crate) fn suite_name(&self, store: &Store, word: &str) -> Result<String, AppError> {
        let files: Arc<dyn Files> = Arc::new(SuiteFiles);
        match load::find_suite(word, &*files) {
            Ok(path) => Ok(karat_suite::name_of(files, &path)?),
            Err(unknown) if store.runs_of_suite(word, 1)?.is_empty() => match store.resolve(word) {
                Ok(run) => Ok(store.run(&run)?.plan.suite.clone()),
                Err(_) => Err(unknown),
            },
            Err(_) => Ok(word.to_owned()),
        }
    }
}

/// The first of these runs that measures systems, and no judge.
fn newest_of_systems(store: &Store, runs: impl IntoIterator<Item = String>) -> Result<Option<String>, AppError> {
    for run in runs {
        let header = store.run(&run)?;
        let calibrates = read_stored_invocation(&header).is_ok_and(|begun| begun.invocation.calibrating.is_some());
        if !header.plan.run.measures_judges && !calibrates {
            return Ok(Some(run));
        }
    }
    Ok(None)
}

/// `sample/model/variant`; without the model if the system has none.
pub(crate) fn path(plan: &PlanHeader, sample: &str, system: usize) -> String {
    let model = plan.system_model(system).map(|model| model.id.as_str());
    let parts = [Some(sample), model, Some(plan.system_variant(system))];
    parts.into_iter().flatten().collect::<Vec<_>>().join("/")
}

/// Returns whether `name` names this cell; without a trial, it names the first.
pub(crate) fn is_named(name: &str, ordinal: u64, path: &str, trial: u32) -> bool {
    let behind = name.strip_prefix(path);
    name == ordinal.to_string()
        || behind.is_some_and(|rest| (rest.is_empty() && trial == 0) || rest == format!("/{trial}"))
}

/// Returns whether `name` names this row of a stored run.
pub(crate) fn is_row(name: &str, plan: &PlanHeader, row: &CellRow<'_>) -> bool {
    is_named(name, row.cell.ordinal, &path(plan, &row.sample.id, row.system), row.trial)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_named_by_number_or_path() {
        let is = |name: &str, trial: u32| is_named(name, 7, "s/1/m/raw", trial);
        assert!(is("7", 3) && is("s/1/m/raw", 0) && is("s/1/m/raw/2", 2));
        assert!(!is("s/1/m/raw", 1) && !is("s/1/m/raw/1", 2) && !is("s/1/m/rawr", 0) && !is("8", 0));
    }
}
