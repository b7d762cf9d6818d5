//! The findings of a run, with what stands around it: the pinned run that it is compared with, labels of people, and the
//! earlier runs that are looks at what it compares.

use std::collections::BTreeSet;
use std::sync::Arc;

use karat_analysis::compare::{EarlierRun, Looks, RunSamples};
use karat_analysis::{Findings, Options, Pinned, analyse};
use karat_store::StoredRun;
use karat_suite::{Files, removals_in};
use karat_types::{AnalysisSpec, KeyBuilder, RunHeader, RunRows, RunStatus};

use crate::AppError;
use crate::error::FileError;
use crate::project::gate_rules::read_pinned;
use crate::project::presets::SuiteFiles;
use crate::stored::invocation::{StoredInvocation, read_stored_invocation};
use crate::stored::labels::anchoring::people_tasks;

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

/// The kind of derived data that are earlier looks.
const LOOKS: &str = "looks";

/// The version of its form.
const LOOKS_FORM: u64 = 1;

/// Number of runs that are searched: enough for a level that nothing reaches.
const SEARCHED: usize = 200;

/// The earlier looks at what a run compares. Of an ended run they are found once and kept.
fn looks(stored: &StoredRun, begun: &StoredInvocation) -> Result<Looks, AppError> {
    let header = stored.header();
    let is_pilot = is_pilot(header, begun);
    if header.status == RunStatus::Running || header.plan.systems.len() < 2 {
        return Ok(Looks { earlier: Vec::new(), is_pilot });
    }
    let key = KeyBuilder::new("karat/looks").number(LOOKS_FORM).key(stored.state()?).finish();
    if let Some(bytes) = stored.read_derived(LOOKS, key)?
        && let Ok(earlier) = postcard::from_bytes(&bytes)
    {
        return Ok(Looks { earlier, is_pilot });
    }
    let earlier = earlier_runs(stored)?;
    if let Ok(bytes) = postcard::to_stdvec(&earlier) {
        // A store that cannot be written now is not a reason to show nothing.
        let _ = stored.keep_derived(LOOKS, key, &bytes);
    }
    Ok(Looks { earlier, is_pilot })
}

/// Returns true for a run on a part of its dataset.
fn is_pilot(header: &RunHeader, begun: &StoredInvocation) -> bool {
    let asked = &begun.invocation.overrides;
    header.shard.is_some()
        || !asked.samples.is_empty()
        || asked.limit.is_some_and(|limit| limit <= header.plan.dataset.rows)
}

/// The runs on a part of a run's samples that have at least two of its systems, oldest first. Of several on the same samples,
/// as when a command is repeated, the first.
fn earlier_runs(stored: &StoredRun) -> Result<Vec<EarlierRun>, AppError> {
    let own = EarlierRun::of(stored.header(), false);
    let (mut samples, mut seen, mut found) = (None, BTreeSet::new(), Vec::new());
    for header in stored.store().finished_before(&own.run, SEARCHED)? {
        let Ok(begun) = read_stored_invocation(&header) else { continue };
        let run = EarlierRun::of(&header, is_pilot(&header, &begun));
        let measures_judges = header.plan.run.measures_judges || begun.invocation.calibrating.is_some();
        let shared = run.systems.intersection(&own.systems).count();
        if measures_judges || begun.score_of.is_some() || shared < 2 || run.samples >= own.samples {
            continue;
        }
        let samples = match &samples {
            Some(samples) => samples,
            None => samples.insert(RunSamples::of(stored)?),
        };
        // A run that cannot be read any more may have been a look, but of unknown samples.
        let Ok(rows) = stored.store().rows(&run.run) else { continue };
        if let Ok(Some(ids)) = samples.extends(&rows)
            && seen.insert((ids, run.systems.clone()))
        {
            found.push(run);
        }
    }
    Ok(found)
}
