//! Making room: results of old runs go out of reuse, on request their requests and responses go for good, and the file
//! becomes smaller by what is free in it.

use karat_types::{Key, Moment, RunStatus};
use rusqlite::{Connection, Transaction, params};
use rustc_hash::FxHashMap;

use crate::cache::Kind;
use crate::error::{Attempt, ReadFailure};
use crate::format::run_status_code;
use crate::reuse::{Place, ReuseKey};
use crate::{Store, StoreError, indexing, reuse, writer};

// A run that is not finished needs the calls that it has paid, and the outputs that it has made.
const RESULTS: &str = "delete from reuse where block in
    (select seq from blocks join runs on runs.id = blocks.run where runs.started_at < ?1 and runs.status = ?2)
    returning key, kind";

// A run of which anything was taken out of reuse gives nothing back: it may be that.
const STAYING: &str = "select seq, reuse from blocks join runs on runs.id = blocks.run
    where not (runs.started_at < ?1 and runs.status = ?2) and runs.id not in (select run from released) order by seq";

const TRACES: &str = "update blocks set traces = x'' where length(traces) > 0
    and run in (select id from runs where started_at < ?1 and status = ?2)";

const TRACE_BYTES: &str = "select coalesce(sum(length(traces)), 0) from blocks
    where run in (select id from runs where started_at < ?1 and status = ?2)";

/// What a pruning took, or would take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pruned {
    /// Results that no later run takes over any more.
    pub results: u64,
    /// Bytes that requests and responses took on disk.
    pub trace_bytes: u64,
    /// Bytes by which the store became smaller; 0 where nothing was changed.
    pub freed: u64,
}

impl Store {
    /// Takes every result out of reuse that a finished run made which began before a moment; where another run has made the
    /// same, that one takes its place. With `traces`, removes the
    /// requests and responses of these runs, too. Then the file is made as small as its content, for which
    /// as much room again is needed meanwhile. With `apply: false` it only counts.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn prune(&self, before: Moment, traces: bool, apply: bool) -> Result<Pruned, StoreError> {
        let attempt = Attempt { path: self.path(), doing: "pruning old results" };
        let connection = self.writing();
        let transaction = writer::begin(&connection, attempt)?;
        let mut pruned = (|| {
            indexing::index_waiting(&transaction)?;
            let results = remove_results(&transaction, before)?;
            let trace_bytes = if traces { remove_traces(&transaction, before)? } else { 0 };
            Ok(Pruned { results, trace_bytes, freed: 0 })
        })()
        .map_err(|failure: ReadFailure| failure.of(self.path(), "old results"))?;
        if apply {
            transaction.commit().map_err(|error| attempt.failed(error))?;
            self.0.known_keys.changed();
            pruned.freed = shrink(&connection).map_err(|error| attempt.failed(error))?;
        }
        Ok(pruned)
    }
}

/// How many results went for which there is no other.
fn remove_results(transaction: &Transaction<'_>, before: Moment) -> Result<u64, ReadFailure> {
    let mut gone: FxHashMap<ReuseKey, Option<Place>> = FxHashMap::default();
    let mut statement = transaction.prepare_cached(RESULTS)?;
    let mut rows = statement.query(old(before))?;
    while let Some(row) = rows.next()? {
        gone.insert((Key(row.get(0)?), Kind::of_code(row.get(1)?)?), None);
    }
    let mut statement = transaction.prepare_cached(STAYING)?;
    let mut rows = statement.query(old(before))?;
    while let Some(row) = rows.next()? {
        let list = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        reuse::unpack_keys(row.get(0)?, list, |key, place| {
            if let Some(successor) = gone.get_mut(&key) {
                *successor = Some(place);
            }
        })?;
    }
    let mut restore = transaction.prepare_cached(reuse::INSERT)?;
    for ((key, kind), Place { block, entry }) in gone.iter().filter_map(|(key, place)| Some((key, place.as_ref()?))) {
        restore.execute(params![key.0, kind.code(), block, *entry as i64])?;
    }
    Ok(gone.values().filter(|place| place.is_none()).count() as u64)
}

/// How many bytes went.
fn remove_traces(connection: &Connection, before: Moment) -> rusqlite::Result<u64> {
    let bytes: i64 = connection.query_row(TRACE_BYTES, old(before), |row| row.get(0))?;
    connection.execute(TRACES, old(before))?;
    Ok(bytes.unsigned_abs())
}

/// Which runs: those that began before a moment and are finished.
fn old(before: Moment) -> [i64; 2] {
    [before.0, run_status_code(RunStatus::Finished)]
}

/// By how many bytes the file became smaller.
fn shrink(connection: &Connection) -> rusqlite::Result<u64> {
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (size, before) = (number("page_size")?, number("page_count")?);
    connection.execute_batch("vacuum; pragma wal_checkpoint(truncate)")?;
    Ok((before - number("page_count")?).max(0).unsigned_abs() * size.unsigned_abs())
}
