//! Merges the shards of a run, each in a store of its own, into one run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use karat_report::count_noun;
use karat_store::{ShardSource, Store, StoreError, StoreUrl};
use karat_types::{RunHeader, RunRows, RunStatus, Shard};

use crate::error::{Bug, MergeError, Names};
use crate::imports::Imports;
use crate::runs::execution::{RunEnd, check_id};
use crate::stored::invocation::{StoredInvocation, read_stored_invocation};
use crate::{AppError, CallRecording};

/// The shards that a merge needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Completeness {
    /// All of them, finished.
    #[default]
    Whole,
    /// Those that are there: the merged run is interrupted, and `resume` makes the rest.
    Partial,
}

/// The request of `karat merge`.
#[derive(Debug, Clone, Default)]
pub struct MergeRequest {
    /// Stores, or folders with one.
    pub paths: Vec<String>,
    /// Id of the run in all of them; found if absent.
    pub run_id: Option<String>,
    /// The shards that must be there.
    pub needs: Completeness,
    /// The folder of the merged run's reports.
    pub output_dir: Option<String>,
}

/// A shard that is to be merged.
struct Part {
    path: String,
    header: RunHeader,
    shard: Shard,
    begun: StoredInvocation,
    store: Store,
}

impl Imports<'_> {
    /// Copies the rows of shards into one run of this app's store. Their plans, datasets and gates must be the same. What
    /// was merged before is not copied again.
    ///
    /// # Errors
    /// Shards that are missing, not finished or not of one run; two copies of a shard that differ; a store that cannot be
    /// read or written. Nothing is written then.
    pub fn merge(&self, request: &MergeRequest) -> Result<RunEnd, AppError> {
        let mut parts = open_parts(request)?;
        parts.sort_by_key(|part| part.shard.number());
        check_same_run(&parts)?;
        let missing = missing_shards(&parts, request.needs)?;
        let header = merged_header(&parts, request, &missing)?;
        let store = self.app.open_store()?;
        let sources: Vec<ShardSource> = parts
            .iter()
            .map(|Part { store, header, shard, .. }| ShardSource {
                store: store.clone(),
                run: header.id.clone(),
                shard: *shard,
            })
            .collect();
        let added = store.merge_shards(&header, &sources)?;
        let merged = store.rows(&header.id)?;
        let totals = merged.totals()?;
        let status = merged.header().status;
        let is_open = status != RunStatus::Finished;
        let run = header.id;
        Ok(RunEnd {
            command: "resume",
            status,
            shard: None,
            calls: totals.spending.calls,
            requests: totals.spending.attempts,
            spent: totals.spending.spent,
            simulated: header.plan.is_simulated(),
            unpriced: totals.spending.unpriced,
            stopped: is_open.then(|| incomplete_message(&run, &missing)),
            refused: None,
            overspent: None,
            detached: None,
            notice: Some(match added {
                0 => format!("{} merged before: nothing is new", shard_list(&parts)),
                _ => format!("{} merged: {}", shard_list(&parts), count_noun(totals.cells, "cell")),
            }),
            run,
        })
    }
}

/// Opens the shards that a request names.
fn open_parts(request: &MergeRequest) -> Result<Vec<Part>, AppError> {
    let mut parts = Vec::new();
    let mut wanted = request.run_id.as_deref().map(check_id).transpose()?;
    for given in &request.paths {
        let (path, url) = find_store(given)?;
        let store = match Store::open_source(&url) {
            // Its process was killed as it started: the shard is missing.
            Err(StoreError::Unwritten { .. }) => continue,
            store => store?,
        };
        if store.runs(1)?.is_empty() {
            continue;
        }
        let header = find_shard(&store, &path, wanted.as_deref())?;
        let shard =
            header.shard().ok_or_else(|| MergeError::NotShard { run: header.id.clone(), path: path.clone() })?;
        // A run of another id would be found in each store by itself.
        wanted.get_or_insert_with(|| header.id.clone());
        let begun = read_stored_invocation(&header)?;
        parts.push(Part { path, header, shard, begun, store });
    }
    if parts.is_empty() {
        return Err(MergeError::NoStores {}.into());
    }
    Ok(parts)
}

/// The store that a path means: a file, `sqlite:PATH`, or the one in a folder.
fn find_store(given: &str) -> Result<(String, StoreUrl), AppError> {
    let url: StoreUrl = given.parse()?;
    let path = url.path();
    if path.is_file() {
        return Ok((given.to_owned(), url));
    }
    if !path.is_dir() {
        return Err(MergeError::NoStore { path: given.to_owned() }.into());
    }
    let usual = [path.join("karat.db"), path.join(".karat/karat.db")];
    let found = match usual.into_iter().find(|file| file.is_file()) {
        Some(file) => file,
        None => only_store(path).map_err(|files| MergeError::NoStoreIn { path: given.to_owned(), files })?,
    };
    Ok((found.display().to_string(), StoreUrl::of_file(found)))
}

/// The only file `*.db` of a folder, or the names of all of them.
fn only_store(folder: &Path) -> Result<PathBuf, Names> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|file| file.extension().is_some_and(|end| end == "db")).collect();
    files.sort();
    match files.pop() {
        Some(only) if files.is_empty() => Ok(only),
        last => Err(Names::of(files.iter().chain(&last).filter_map(|file| file.file_name()?.to_str()))),
    }
}

/// The run of a store that is merged: the wanted one, or the only shard.
fn find_shard(store: &Store, path: &str, wanted: Option<&str>) -> Result<RunHeader, AppError> {
    let shards = store.shards()?;
    let ids: BTreeSet<&str> = shards.iter().map(|header| header.id.as_str()).collect();
    match wanted {
        Some(id) => store.run(id).map_err(|error| match error {
            StoreError::NoSuchRun { .. } => {
                MergeError::NoRun { run: id.to_owned(), path: path.to_owned(), shards: Names::of(&ids) }.into()
            }
            error => error.into(),
        }),
        None if ids.len() == 1 => Ok(store.run(ids.iter().next().copied().unwrap_or_default())?),
        None => Err(MergeError::WhichRun { path: path.to_owned(), shards: Names::of(&ids) }.into()),
    }
}

/// Checks that all parts are of one run: the number of shards, the plan and the gates are the same.
fn check_same_run(parts: &[Part]) -> Result<(), AppError> {
    let Some((first, others)) = parts.split_first() else { return Ok(()) };
    for part in others {
        let differs = if part.shard.count() != first.shard.count() {
            Some("the number of shards".to_owned())
        } else if part.header.plan.plan_hash != first.header.plan.plan_hash {
            Some(Names::of(karat_suite::plan_changes(&first.header.plan, &part.header.plan)).to_string())
        } else if part.begun.rules != first.begun.rules {
            Some("the gates".to_owned())
        } else {
            None
        };
        if let Some(differs) = differs {
            let name = |part: &Part| format!("shard {} in {}", part.shard, part.path);
            return Err(MergeError::OtherPlan { one: name(first), other: name(part), differs }.into());
        }
    }
    Ok(())
}

/// The numbers of the shards that are missing or not finished.
///
/// # Errors
/// There are some, and all are needed; or one of them cannot be merged yet.
fn missing_shards(parts: &[Part], needs: Completeness) -> Result<Vec<u32>, AppError> {
    let count = parts.first().map_or(0, |part| part.shard.count());
    for part in parts.iter().filter(|part| part.header.status != RunStatus::Finished) {
        let (shard, path) = (part.shard, part.path.clone());
        if part.header.status == RunStatus::Running {
            return Err(MergeError::StillRunning { shard, path }.into());
        }
        if part.store.batches(&part.header.id)?.iter().any(|batch| batch.state.is_under_way()) {
            return Err(MergeError::InBatches { shard, path, run: part.header.id.clone() }.into());
        }
    }
    let given: BTreeSet<u32> = parts.iter().map(|part| part.shard.number()).collect();
    let finished = parts.iter().filter(|part| part.header.status == RunStatus::Finished);
    let finished: BTreeSet<u32> = finished.map(|part| part.shard.number()).collect();
    let open: Vec<u32> = (1..=count).filter(|number| !finished.contains(number)).collect();
    if open.is_empty() || needs == Completeness::Partial {
        return Ok(open);
    }
    let (unfinished, absent): (Vec<u32>, Vec<u32>) = open.into_iter().partition(|number| given.contains(number));
    let say = |numbers: &[u32], is: &str| {
        let noun = if numbers.len() == 1 { "shard" } else { "shards" };
        let be = if numbers.len() == 1 { "is" } else { "are" };
        (!numbers.is_empty()).then(|| format!("{noun} {} of {count} {be} {is}", Names::of(numbers)))
    };
    let said: Vec<String> = [say(&absent, "missing"), say(&unfinished, "not finished")].into_iter().flatten().collect();
    Err(MergeError::Incomplete { what: said.join(", "), run: parts[0].header.id.clone() }.into())
}

/// The header of the merged run: a whole run of the same plan, so that every command about stored runs takes it.
fn merged_header(parts: &[Part], request: &MergeRequest, missing: &[u32]) -> Result<RunHeader, AppError> {
    let first = &parts[0];
    let mut begun = first.begun.clone();
    begun.invocation.overrides.shard = None;
    begun.invocation.output_dir.clone_from(&request.output_dir);
    // The recording of each shard has its own calls only.
    begun.tape = CallRecording::None;
    let invocation = serde_json::to_value(begun).map_err(|source| Bug::Json { what: "the run's start", source })?;
    let end = |part: &Part| part.header.completed_at.unwrap_or(part.header.started_at);
    Ok(RunHeader {
        id: first.header.id.clone(),
        plan: first.header.plan.clone(),
        started_at: parts.iter().map(|part| part.header.started_at).min().unwrap_or(first.header.started_at),
        completed_at: parts.iter().map(end).max(),
        status: if missing.is_empty() { RunStatus::Finished } else { RunStatus::Interrupted },
        shard: None,
        version: first.header.version.clone(),
        git_commit: first.header.git_commit.clone(),
        invocation,
    })
}

fn incomplete_message(run: &str, missing: &[u32]) -> String {
    let what = match missing {
        [] => "the merged run is not finished".to_owned(),
        [one] => format!("shard {one} is missing or not finished"),
        several => format!("shards {} are missing or not finished", Names::of(several)),
    };
    format!("{what}: `karat resume {run}` makes the rest here, or merge again with all shards")
}

/// `shards 1, 2 of 4`.
fn shard_list(parts: &[Part]) -> String {
    let numbers: BTreeSet<u32> = parts.iter().map(|part| part.shard.number()).collect();
    let noun = if numbers.len() == 1 { "shard" } else { "shards" };
    let count = parts.first().map_or(0, |part| part.shard.count());
    format!("{noun} {} of {count}", Names::of(numbers))
}
