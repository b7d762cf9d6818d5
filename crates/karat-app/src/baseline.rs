//! The pinned run that a run is held against, and the findings that compare with it.

use std::sync::Arc;

use karat_analysis::{Findings, Options, Pinned, analyse};
use karat_store::StoredRun;
use karat_suite::Files;
use karat_types::{AnalysisSpec, PlanHeader, RunRows};

use crate::AppError;
use crate::begun::begun;
use crate::error::{AnalyseError, FileError};
use crate::preset::SuiteFiles;

/// What a stored run found, its pinned baseline beside it where an analysis asks for one.
pub(crate) fn findings(stored: &StoredRun) -> Result<Findings, AppError> {
    let options = Options { baseline: baseline(stored)?.map(Arc::new), ..Options::default() };
    analyse(stored, &options).map_err(AppError::from)
}

/// The pinned run that the suite of a run names, where an analysis compares with it and something is pinned.
///
/// # Errors
/// The file cannot be read, or is no pinned run.
pub(crate) fn baseline(stored: &StoredRun) -> Result<Option<Pinned>, AppError> {
    let compares = |spec: &AnalysisSpec| spec.with.get("over").is_some_and(|over| over == "baseline");
    let header = stored.header();
    let path = begun(header).ok().and_then(|begun| begun.rules.baseline);
    let Some(path) = path.filter(|_| header.plan.analyses.iter().any(compares)) else { return Ok(None) };
    match SuiteFiles.read(&path) {
        Ok(bytes) => pinned(&path, &bytes, &header.plan).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::of("reading the baseline", path, error).into()),
    }
}

/// The pinned run of a file, for a run of this plan.
pub(crate) fn pinned(path: &str, bytes: &[u8], plan: &PlanHeader) -> Result<Pinned, AppError> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned());
    let sound = |pinned: Pinned| pinned.check_plan(plan).map(|()| pinned);
    let problem = |problem| AnalyseError::BadBaseline { path: path.to_owned(), problem }.into();
    text.and_then(Pinned::read).and_then(sound).map_err(problem)
}
