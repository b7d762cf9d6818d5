//! The pinned run that a run is compared with, and the findings of the comparison.

use std::sync::Arc;

use karat_analysis::{Findings, Options, Pinned, analyse};
use karat_store::StoredRun;
use karat_suite::{Files, removals_in};
use karat_types::{AnalysisSpec, PlanHeader, RunRows};

use crate::AppError;
use crate::error::{AnalyseError, FileError};
use crate::project::presets::SuiteFiles;
use crate::stored::invocation::read_stored_invocation;
use crate::stored::labels::anchoring::people_tasks;
use crate::stored::looks::looks;

/// The findings of a stored run, with what its store knows of people's labels, and its pinned baseline if an analysis needs
/// one.
pub(crate) fn findings(stored: &StoredRun) -> Result<Findings, AppError> {
    let (baseline, people) = (baseline(stored)?.map(Arc::new), people_tasks(stored)?.into());
    let begun = read_stored_invocation(stored.header()).unwrap_or_default();
    let looks = looks(stored, &begun)?;
    let options =
        Options { policy: begun.rules.policy, gates: begun.rules.gates, baseline, people, looks, ..Options::default() };
    let mut findings = analyse(stored, &options)?;
    for sentence in removals_in(&stored.header().plan) {
        findings.warnings.push(format!("The run was made with a part that this version does not have: {sentence}."));
    }
    Ok(findings)
}

/// The pinned run that the suite of a run names, if an analysis compares with it and it exists.
///
/// # Errors
/// The file cannot be read, or is not a pinned run.
pub(crate) fn baseline(stored: &StoredRun) -> Result<Option<Pinned>, AppError> {
    let compares = |spec: &AnalysisSpec| spec.with.get("over").is_some_and(|over| over == "baseline");
    let header = stored.header();
    if !header.plan.analyses.iter().any(compares) {
        return Ok(None);
    }
    let Some(path) = read_stored_invocation(header)?.rules.baseline else { return Ok(None) };
    match SuiteFiles.read(&path) {
        Ok(bytes) => read_pinned(&path, &bytes, &header.plan).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileError::of("reading the baseline", path, error).into()),
    }
}

/// Reads a pinned run for a run of this plan.
pub(crate) fn read_pinned(path: &str, bytes: &[u8], plan: &PlanHeader) -> Result<Pinned, AppError> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned());
    let sound = |pinned: Pinned| pinned.check_plan(plan).map(|()| pinned);
    let problem = |problem| AnalyseError::BadBaseline { path: path.to_owned(), problem }.into();
    text.and_then(Pinned::read).and_then(sound).map_err(problem)
}
