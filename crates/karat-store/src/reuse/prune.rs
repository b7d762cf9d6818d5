//! Pruning: invalidates results of old runs, on request removes their requests and responses, and shrinks the file.

use karat_types::{Key, Moment, RunStatus};
use rustc_hash::FxHashMap;

use crate::block::section_cache::{EntryPlace, ReuseKey, SectionKind};
use crate::database::transaction;
use crate::error::{Attempt, ReadFailure};
use crate::format::run_status_code;
use crate::reuse::{blobs, index_writer, known_keys};
use crate::sql::tables::{BLOCKS, REUSE};
use crate::sql::{Connection, SqlResult, Transaction, params};
use crate::{Store, StoreError};

// An unfinished run needs its paid calls and its outputs.
const RESULTS: &str = "delete from reuse where block in
    (select seq from blocks join runs on runs.id = blocks.run where runs.started_at < ?1 and runs.status = ?2)
    returning key, kind";

// A run with an invalidated cell restores nothing: the key may be an invalidated one.
const STAYING: &str = "from blocks join runs on runs.id = blocks.run
    where not (runs.started_at < ?1 and runs.status = ?2) and runs.id not in (select run from released) order by seq";

const TRACED_BLOCKS: &str = "select seq, length(log) + length(reuse) + length(judgments) + length(outputs) from blocks
    where length(traces) > 0 and run in (select id from runs where started_at < ?1 and status = ?2) order by seq";

/// Bytes that are written anew together: a block without its traces is a new row, which goes through the log. So little room
/// is needed on the disk.
const REWRITTEN_TOGETHER: i64 = 1 << 20;

const TRACE_BYTES: &str = "select coalesce(sum(length(traces)), 0) from blocks
    where run in (select id from runs where started_at < ?1 and status = ?2)";

/// The effect of a pruning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PruneResult {
    /// Results that no later run can reuse.
    pub results: u64,
    /// Size of the removed requests and responses on disk, in bytes.
    pub trace_bytes: u64,
    /// Bytes by which the file shrank; 0 if nothing was changed.
    pub freed: u64,
    /// The free disk space in bytes that shrinking the file needs, if there is too little. The results are invalidated
    /// all the same, and later runs write into the room inside the file.
    pub room_to_shrink: Option<u64>,
}

impl Store {
    /// Invalidates every result of finished runs that started before a moment. If another run has made the same
    /// result, its copy takes the place. With `traces`, also removes the requests and responses of these runs. Then
    /// shrinks the file to its content, which needs as much free disk space as the content takes; on a disk with less the
    /// file keeps its size. With `apply: false` it only counts.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn prune(&self, before: Moment, traces: bool, apply: bool) -> Result<PruneResult, StoreError> {
        let attempt = Attempt { path: self.path(), doing: "pruning old results" };
        let connection = self.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        let mut pruned = (|| {
            index_writer::index_all(&transaction)?;
            let results = remove_results(&transaction, before)?;
            let trace_bytes = match traces {
                true => trace_bytes(&transaction, before)? + blobs::bytes_before(&transaction, before)?,
                false => 0,
            };
            Ok(PruneResult { results, trace_bytes, ..PruneResult::default() })
        })()
        .map_err(|failure: ReadFailure| failure.of(self.path(), "old results"))?;
        if apply {
            transaction.commit().map_err(|error| attempt.error(error))?;
            self.0.known_keys.discard();
            if traces {
                remove_traces(&connection, before, attempt)?;
                blobs::remove_before(&connection, before).map_err(|error| attempt.error(error))?;
            }
            match shrink(&connection).map_err(|error| attempt.error(error)) {
                Ok(freed) => pruned.freed = freed,
                Err(StoreError::Full { .. } | StoreError::Refused { .. }) => {
                    // Checkpointed as far as there is room, so that the log does not keep what it grew by.
                    checkpoint(&connection);
                    pruned.room_to_shrink = Some(content_bytes(&connection).map_err(|error| attempt.error(error))?);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(pruned)
    }

    /// The bytes of the file without its free pages: shrinking it needs at most so much free disk space.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn content_bytes(&self) -> Result<u64, StoreError> {
        self.read("its size", |connection| Ok(content_bytes(connection)?))
    }
}

/// Removes the results and returns the number of those without a replacement.
fn remove_results(transaction: &Transaction<'_>, before: Moment) -> Result<u64, ReadFailure> {
    let mut gone: FxHashMap<ReuseKey, Option<EntryPlace>> = FxHashMap::default();
    let mut statement = transaction.prepare_cached(RESULTS)?;
    let mut rows = statement.query(params![before.0, run_status_code(RunStatus::Finished)])?;
    while let Some(row) = rows.next()? {
        gone.insert((Key(row.get(0)?), SectionKind::of_code(row.get(1)?)?), None);
    }
    let mut statement = transaction.prepare_cached(&known_keys::list_query(transaction, STAYING))?;
    let mut rows = statement.query(params![before.0, run_status_code(RunStatus::Finished)])?;
    while let Some(row) = rows.next()? {
        let (block, _, list) = known_keys::read_list(&row)?;
        known_keys::unpack_keys(block, list, |key, place| {
            if let Some(successor) = gone.get_mut(&key) {
                *successor = Some(place);
            }
        })?;
    }
    let mut restore = REUSE.inserting(transaction, known_keys::REPLACE)?;
    for ((key, kind), EntryPlace { block, entry }) in
        gone.iter().filter_map(|(key, place)| Some((key, place.as_ref()?)))
    {
        restore.execute(params![key.0, kind.code(), block, *entry as i64])?;
    }
    Ok(gone.values().filter(|place| place.is_none()).count() as u64)
}

/// Returns the size of the traces in bytes.
fn trace_bytes(connection: &Connection, before: Moment) -> SqlResult<u64> {
    let bytes: i64 =
        connection.query_row(TRACE_BYTES, params![before.0, run_status_code(RunStatus::Finished)], |row| row.get(0))?;
    Ok(bytes.unsigned_abs())
}

/// Removes the traces, some blocks at a time. What is removed stays removed if the disk has no room for the rest.
fn remove_traces(connection: &Connection, before: Moment, attempt: Attempt<'_>) -> Result<(), StoreError> {
    let blocks = (|| {
        let mut statement = connection.prepare_cached(TRACED_BLOCKS)?;
        let rows = statement
            .query_map(params![before.0, run_status_code(RunStatus::Finished)], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<SqlResult<Vec<(i64, i64)>>>()
    })();
    let mut blocks = blocks.map_err(|error| attempt.error(error))?.into_iter().peekable();
    while blocks.peek().is_some() {
        let transaction = transaction::begin(connection, attempt)?;
        let mut rewritten = 0;
        while rewritten < REWRITTEN_TOGETHER
            && let Some((block, bytes)) = blocks.next()
        {
            let removed = BLOCKS.change(&transaction, "seq = ?1", params![block], |row| {
                row.set("traces", &[0_u8; 0]);
                Ok(())
            });
            removed.map_err(|error| attempt.error(error))?;
            rewritten += bytes;
        }
        transaction.commit().map_err(|error| attempt.error(error))?;
        // A reader may hold the log for a moment; then it is emptied after the next blocks.
        checkpoint(connection);
    }
    Ok(())
}

/// Writes the log back into the file and empties it. A server does so by itself.
fn checkpoint(connection: &Connection) {
    if let Some(file) = connection.file() {
        let _ = file.execute_batch("pragma wal_checkpoint(truncate)");
    }
}

fn content_bytes(connection: &Connection) -> SqlResult<u64> {
    let Some(file) = connection.file() else {
        let size = "select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint from pg_class
            where relkind = 'r' and relnamespace = current_schema()::regnamespace";
        return Ok(connection.query_row(size, params![], |row| row.get::<i64>(0))?.unsigned_abs());
    };
    let number = |name| file.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let pages = number("page_count")? - number("freelist_count")?;
    Ok(pages.max(0).unsigned_abs() * number("page_size")?.unsigned_abs())
}

/// Shrinks the file and returns the number of bytes freed. On a server, later rows take the room that became free.
fn shrink(connection: &Connection) -> SqlResult<u64> {
    let Some(file) = connection.file() else { return Ok(0) };
    let number = |name| file.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (size, before) = (number("page_size")?, number("page_count")?);
    file.execute_batch("vacuum; pragma wal_checkpoint(truncate)")?;
    Ok((before - number("page_count")?).max(0).unsigned_abs() * size.unsigned_abs())
}
