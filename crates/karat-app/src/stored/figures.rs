//! Verdict and headline of a run, for lists: they take a pass over all cells, so the store keeps them.

use std::io;

use karat_store::{Store, StoredRun};
use karat_suite::Files;
use karat_types::{Better, Key, KeyBuilder, RunRows, RunStatus};
use serde::{Deserialize, Serialize};

use crate::AppError;
use crate::project::presets::SuiteFiles;
use crate::stored::invocation::read_stored_invocation;
use crate::stored::labels::anchoring::findings_state;

/// The kind of derived data.
const KIND: &str = "run-figures";

/// The version of the form, and of the meaning of its fields.
const FORM: u64 = 1;

/// Verdict and headline of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFigures {
    /// Verdict of its gates: `pass`, `fail`, `undecided` or `review`; `None` without gates.
    pub verdict: Option<String>,
    /// Its first headline metric.
    pub headline: Option<Headline>,
    /// Cells with at least one failed score.
    pub unscored: u64,
}

/// A metric over a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    /// The metric.
    pub metric: String,
    /// The figure; `None` if nothing has a score.
    pub value: Option<f64>,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// Units with a value.
    pub n: u64,
    /// Unit that is not a plain number: `ms`, `USD`.
    pub unit: Option<String>,
    /// Lowest and highest possible value, if they are declared.
    pub range: Option<(f64, f64)>,
    /// True if the metric only takes the values 0 and 1.
    pub binary: bool,
    /// The better direction.
    pub better: Better,
}

/// The figures of a run that the store keeps, if they are of its present state.
pub(crate) fn kept_figures(stored: &StoredRun) -> Result<Option<RunFigures>, AppError> {
    let Some(key) = figures_key(stored)? else { return Ok(None) };
    Ok(stored.read_derived(KIND, key)?.and_then(|bytes| postcard::from_bytes(&bytes).ok()))
}

/// The ids of runs whose figures the store keeps, in whatever state they were then.
pub(crate) fn all_kept_figures(store: &Store) -> Result<Vec<(String, RunFigures)>, AppError> {
    let kept = store.derived_of_runs(KIND)?.into_iter();
    Ok(kept.filter_map(|data| Some((data.run, postcard::from_bytes(&data.bytes).ok()?))).collect())
}

/// The key of a run's figures: its state, the code, the labels of closed tasks, and the baseline that its gates compare
/// with, a file or a folder.
/// `None` if they are not to be kept: the run goes on, or its baseline cannot be read.
pub(crate) fn figures_key(stored: &StoredRun) -> Result<Option<Key>, AppError> {
    let header = stored.header();
    if header.status == RunStatus::Running {
        return Ok(None);
    }
    let begun = read_stored_invocation(header)?;
    let key = KeyBuilder::new("karat/run-figures").key(findings_state(stored)?);
    let key = key.number(FORM).text(env!("CARGO_PKG_VERSION"));
    Ok(match begun.rules.baseline {
        None => Some(key.bytes(&[]).finish()),
        Some(path) => add_baseline(key, &path).ok().map(KeyBuilder::finish),
    })
}

/// Adds the content of a baseline: of its file, or of the golden files of its folder with their names.
fn add_baseline(key: KeyBuilder, path: &str) -> io::Result<KeyBuilder> {
    let Ok(mut names) = SuiteFiles.list(path) else { return Ok(key.bytes(&SuiteFiles.read(path)?)) };
    names.retain(|name| name.ends_with(".json"));
    names.sort();
    names.iter().try_fold(key, |key, name| Ok(key.text(name).bytes(&SuiteFiles.read(&karat_suite::join(path, name))?)))
}

/// Keeps the figures of a run under a key of its state, if it has one.
pub(crate) fn keep_figures(stored: &StoredRun, key: Option<Key>, figures: &RunFigures) {
    if let (Some(key), Ok(bytes)) = (key, postcard::to_stdvec(figures)) {
        // A store that cannot be written now is not a reason to show nothing.
        let _ = stored.keep_derived(KIND, key, &bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// DB-04: figures are kept for a baseline folder, and computed again when one of its golden files changes.
    #[test]
    fn a_changed_golden_file_changes_the_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let key = || add_baseline(KeyBuilder::new("test"), path).unwrap().finish();
        fs::write(folder.path().join("a.json"), "1").unwrap();
        let first = key();
        fs::write(folder.path().join("notes.md"), "no golden file").unwrap();
        assert_eq!(key(), first);
        fs::write(folder.path().join("a.json"), "2").unwrap();
        assert_ne!(key(), first);
        assert!(add_baseline(KeyBuilder::new("test"), &format!("{path}/none")).is_err());
    }
}
