//! Merging: the blocks and rows of a run's shards, copied from their stores into one run of another.
//!
//! - here: the transaction of a merge. All of it is written, or nothing.
//! - `part`: copies what a store holds of one shard, as it is; only the facts of cells and lists of keys are unpacked, to
//!   find damage and results that were invalidated.
//! - `copies`: compares a shard with what was merged of it before.
//!
//! Blocks are only ever added to a run, so what was merged of a shard earlier is the beginning of what it holds now: that is
//! how a merge is repeated, and how a shard that was resumed adds its rest. `shards` has the blocks that came from each shard.

mod copies;
mod part;
#[cfg(test)]
mod tests;

use karat_types::{Moment, RunHeader, RunStatus, Shard};

use crate::database::transaction;
use crate::error::{Attempt, ReadFailure};
use crate::format::encode::to_sql_integer;
use crate::format::run_lookup::named_run;
use crate::format::{pack_header, run_status_code};
use crate::read::totals;
use crate::sql::tables::{RUNS, SHARDS, run_column as column};
use crate::sql::{Row, SqlError, SqlResult, StoredRow, Transaction, params};
use crate::{Store, StoreError};

/// The run of one shard in a store.
#[derive(Debug, Clone)]
pub struct ShardSource {
    /// The store.
    pub store: Store,
    /// Id of the run.
    pub run: String,
    /// The shard that it is.
    pub shard: Shard,
}

/// The run that a merge writes to.
struct MergedRun<'m> {
    id: i64,
    header: &'m RunHeader,
    /// True if the run had rows before this merge.
    is_known: bool,
}

/// The blocks of a merged run that came from one shard, in order: first and last of each merge.
type Ranges = Vec<(i64, i64)>;

const RANGES: &str = "from shards where run = ?1 and shard = ?2 order by first";

impl Store {
    /// Copies the rows of shards into one run of this store, and ends it with the status and time of `header`. What was
    /// copied by an earlier merge stays as it is. Returns the number of blocks that were added: 0 if nothing is new.
    ///
    /// # Errors
    /// [`StoreError::NotMerged`] if the store has a run of this id that is not made of shards;
    /// [`StoreError::ShardsDiffer`] if a shard is there twice, or was continued in both stores, with different rows;
    /// [`StoreError::RunInUse`]; a source that cannot be read, or is damaged. Nothing is written then.
    pub fn merge_shards(&self, header: &RunHeader, parts: &[ShardSource]) -> Result<u64, StoreError> {
        let attempt = Attempt { path: self.path(), doing: "merging shards" };
        for store in parts.iter().map(|part| &part.store).chain([self]) {
            if store.is_on_server() {
                return Err(StoreError::Unsupported(format!(
                    "cannot merge shards with the store {}: `postgres://` stores cannot do that yet. Merge into a file, then \
                     copy it by `karat store copy`",
                    store.url()
                )));
            }
        }
        let _claim = self.claim(&header.id)?;
        let connection = self.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        let (run, before) = open_run(&transaction, header, attempt)?;
        let mut added = 0;
        for part in parts {
            let blocks = part.store.read("the rows of a shard", |source| {
                let snapshot = source.snapshot()?;
                part::copy(&snapshot, &transaction, part, &run, attempt)
            })?;
            added += blocks;
        }
        if !(added == 0 && before == Some(RunStatus::Finished)) {
            let at = header.completed_at.unwrap_or(header.started_at);
            totals::finish(&transaction, run.id, header.status, at, attempt)?;
        }
        transaction.commit().map_err(|error| attempt.error(error))?;
        self.0.known_keys.discard();
        // A merge adds many pages at once.
        if let Some(file) = connection.file() {
            let _ = file.execute_batch("pragma wal_checkpoint(passive); pragma shrink_memory");
        }
        Ok(added)
    }
}

/// Finds the run that an earlier merge has made, or makes it. Returns its status before, too.
fn open_run<'m>(
    transaction: &Transaction<'_>,
    header: &'m RunHeader,
    attempt: Attempt<'_>,
) -> Result<(MergedRun<'m>, Option<RunStatus>), StoreError> {
    let failed = |error: SqlError| attempt.error(error);
    let columns = |row: &Row<'_>| {
        let (id, status) = (row.get(column::ID)?, row.get(column::STATUS)?);
        Ok((id, status, row.get(column::STARTED_AT)?, row.get(column::PLAN_HASH)?))
    };
    let known: Option<(i64, i64, i64, [u8; 16])> =
        named_run(transaction, &header.id, &[], columns).map_err(|failure| failure.of(attempt.path, "a run"))?;
    let facts = pack_header(header)?;
    let Some((id, status, started_at, plan)) = known else {
        let planned = to_sql_integer("a plan", header.planned_cells())?;
        let status = run_status_code(RunStatus::Running);
        let (plan, pid) = (&header.plan, i64::from(std::process::id()));
        let (id, none, started_at) = (RUNS.next_number(transaction).map_err(failed)?, None::<i64>, header.started_at.0);
        let row = params![
            id,
            header.id,
            plan.suite,
            plan.plan_hash.0,
            status,
            started_at,
            none,
            planned,
            pid,
            None::<&[u8]>,
            facts
        ];
        RUNS.insert(transaction, "", row).map_err(failed)?;
        return Ok((MergedRun { id, header, is_known: false }, None));
    };
    let is_merged = transaction
        .query_row("select exists (select 1 from shards where run = ?1)", params![id], |row| row.get::<bool>(0))
        .map_err(failed)?;
    let why = match is_merged {
        false => Some("it is not made of shards"),
        true => (plan != header.plan.plan_hash.0).then_some("it is of another plan"),
    };
    if let Some(why) = why {
        return Err(StoreError::NotMerged { run: header.id.clone(), path: attempt.path.to_owned(), why });
    }
    let started_at = Moment(started_at).min(header.started_at);
    let earlier = |row: &mut StoredRow| {
        row.set("started_at", &started_at.0);
        Ok(())
    };
    RUNS.change(transaction, "id = ?1", params![id], earlier).map_err(failed)?;
    let status = crate::format::run_status_of(status)
        .map_err(|damage| ReadFailure::from(damage).of(attempt.path, "the status of a run"))?;
    Ok((MergedRun { id, header, is_known: true }, Some(status)))
}

/// The blocks of a run that came from a shard.
fn ranges(transaction: &Transaction<'_>, run: i64, shard: Shard) -> SqlResult<Ranges> {
    let mut statement = transaction.prepare_cached(&format!("select {} {RANGES}", SHARDS.select(transaction, &[])))?;
    let range = |row: &Row<'_>| {
        SHARDS.check(row, &[])?;
        Ok((row.get(2)?, row.get(3)?))
    };
    statement.query_map(params![run, shard.number()], range)?.collect()
}
