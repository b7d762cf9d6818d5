//! Finds the earlier runs of a store that are looks at what a run compares.

use std::collections::BTreeSet;

use karat_analysis::compare::{EarlierRun, Looks, RunSamples};
use karat_store::StoredRun;
use karat_types::{KeyBuilder, RunHeader, RunRows, RunStatus};

use crate::AppError;
use crate::stored::invocation::{StoredInvocation, read_stored_invocation};

/// The kind of derived data.
const KIND: &str = "looks";

/// The version of its form.
const FORM: u64 = 1;

/// Number of runs that are searched: enough for a level that nothing reaches.
const SEARCHED: usize = 200;

/// The earlier looks at what a run compares. Of an ended run they are found once and kept.
pub(crate) fn looks(stored: &StoredRun, begun: &StoredInvocation) -> Result<Looks, AppError> {
    let header = stored.header();
    let is_pilot = is_pilot(header, begun);
    if header.status == RunStatus::Running || header.plan.systems.len() < 2 {
        return Ok(Looks { earlier: Vec::new(), is_pilot });
    }
    let key = KeyBuilder::new("karat/looks").number(FORM).key(stored.state()?).finish();
    if let Some(bytes) = stored.read_derived(KIND, key)?
        && let Ok(earlier) = postcard::from_bytes(&bytes)
    {
        return Ok(Looks { earlier, is_pilot });
    }
    let earlier = earlier_runs(stored)?;
    if let Ok(bytes) = postcard::to_stdvec(&earlier) {
        // A store that cannot be written now is no reason to show nothing.
        let _ = stored.keep_derived(KIND, key, &bytes);
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
