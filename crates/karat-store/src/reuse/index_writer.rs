//! Writes keys into the index of reusable results: sorted, many at a time, and a part of them with each commit.
//!
//! Once [`DUE`] keys wait, a process that writes many keys sorts the waiting ones. Each later commit then inserts the
//! next part, so that no commit takes much longer than others. The parts follow each other in the index, so each page
//! is written about once. The index counts as complete up to a block only when the last part is in: until then a
//! process that ends, or another process that is faster, loses work and nothing else. Processes that write few keys
//! leave them to others until [`MOST`] keys wait; those are inserted at once.

use std::collections::BTreeMap;

use crate::block::section_cache::{EntryPlace, ReuseKey};
use crate::error::ReadFailure;
use crate::reuse::known_keys::{REPLACE, index_state, read_unindexed};
use crate::sql::tables::{REUSE, REUSE_STATE};
use crate::sql::{SqlResult, Transaction, params};

/// Number of waiting keys at which insertion starts. A larger number makes the index cheaper and the first look-up of
/// a process slower.
const DUE: i64 = 65_536;

/// A process that has written this many keys will probably live until they are inserted.
const MANY: usize = 4096;

/// Keys inserted for each key that a commit adds. With 2, all [`DUE`] keys are in before half as many new ones wait.
const PART: usize = 2;

/// Number of waiting keys at which the next commit inserts all of them.
const MOST: i64 = 2 * DUE;

/// The state of insertion in one writer.
#[derive(Debug, Default)]
pub(crate) struct IndexWriter {
    /// Keys that this process has written.
    written: usize,
    /// Keys that waited after the last commit.
    waiting: Option<i64>,
    /// The row of the index's state after the last commit.
    state: Option<KnownState>,
    turn: Option<IndexTurn>,
}

/// The row of `reuse_state`, as this process wrote it.
#[derive(Debug)]
struct KnownState {
    indexed: i64,
    waiting: i64,
    sum: Vec<u8>,
}

impl KnownState {
    fn of(indexed: i64, waiting: i64) -> Self {
        Self { indexed, waiting, sum: REUSE_STATE.sum_of_row(params![indexed, waiting]) }
    }

    /// Replaces the row, if it is still the one that is known: of the statements of a commit, one less than to read it first.
    fn replace(&self, transaction: &Transaction<'_>, next: &Self) -> SqlResult<bool> {
        let update = "update reuse_state set waiting = ?1, sum = ?2 where waiting = ?3 and indexed = ?4 and sum = ?5";
        let values = params![next.waiting, next.sum, self.waiting, self.indexed, self.sum];
        Ok(transaction.prepare_cached(update)?.execute(values)? == 1)
    }
}

/// The keys of the blocks after `after` up to `to`, in the order of the index.
#[derive(Debug)]
struct IndexTurn {
    after: i64,
    to: i64,
    count: i64,
    left: std::vec::IntoIter<(ReuseKey, EntryPlace)>,
}

impl IndexWriter {
    /// Counts the keys that a commit adds, and inserts waiting ones when it is time. Returns the last block whose
    /// keys are all in the index. After a failed commit the caller must discard the [`IndexWriter`].
    pub fn add(&mut self, transaction: &Transaction<'_>, keys: usize) -> Result<i64, ReadFailure> {
        let (waiting, indexed) = self.count(transaction, keys as i64)?;
        self.note_counted(keys, waiting);
        // Another process, or an invalidation, has inserted these keys. Inserting them again would undo later
        // changes.
        let turn = self.turn.take().filter(|turn| turn.after == indexed);
        if waiting >= MOST {
            return index_all(transaction);
        }
        let Some(mut turn) = turn else {
            self.turn = is_due(waiting, self.written).then(|| IndexTurn::begin(transaction)).transpose()?;
            return Ok(indexed);
        };
        turn.insert_part(transaction, PART * keys)?;
        if turn.left.len() > 0 {
            self.turn = Some(turn);
            return Ok(indexed);
        }
        turn.end(transaction)
    }

    /// Counts more waiting keys, as [`count_waiting`] does.
    fn count(&mut self, transaction: &Transaction<'_>, more: i64) -> Result<(i64, i64), ReadFailure> {
        if let Some(known) = self.state.take() {
            let next = KnownState::of(known.indexed, known.waiting + more);
            if known.replace(transaction, &next)? {
                let counted = (next.waiting, next.indexed);
                self.state = Some(next);
                return Ok(counted);
            }
        }
        let (waiting, indexed) = count_waiting(transaction, more)?;
        self.state = Some(KnownState::of(indexed, waiting));
        Ok((waiting, indexed))
    }

    /// Returns `true` if a commit that adds so many keys has only to count them, as far as the last commit could tell.
    pub fn only_counts(&self, keys: usize) -> bool {
        let Some(waiting) = self.waiting.map(|waiting| waiting + keys as i64) else { return false };
        self.turn.is_none() && waiting < MOST && !is_due(waiting, self.written + keys)
    }

    /// Notes a commit after which so many keys wait.
    pub fn note_counted(&mut self, keys: usize, waiting: i64) {
        self.written += keys;
        self.waiting = Some(waiting);
    }
}

/// Returns `true` if a process that has written so many keys inserts the waiting ones.
fn is_due(waiting: i64, written: usize) -> bool {
    waiting >= DUE && written >= MANY
}

/// Counts more waiting keys. Returns their number, and the last block whose keys are in the index.
pub(crate) fn count_waiting(transaction: &Transaction<'_>, more: i64) -> Result<(i64, i64), ReadFailure> {
    let (mut waiting, mut indexed) = (0, 0);
    REUSE_STATE.change(transaction, "true", params![], |row| {
        (waiting, indexed) = (row.get::<i64>("waiting")? + more, row.get("indexed")?);
        if more > 0 {
            row.set("waiting", &waiting);
        }
        Ok(())
    })?;
    Ok((waiting, indexed))
}

/// Inserts all waiting keys and returns the last block in the index.
pub(crate) fn index_all(transaction: &Transaction<'_>) -> Result<i64, ReadFailure> {
    let mut turn = IndexTurn::begin(transaction)?;
    turn.insert_part(transaction, usize::MAX)?;
    turn.end(transaction)
}

/// Inserts keys as one statement, which may change a row only once: of two places of one key the map has the later one.
fn insert_on_server(
    session: &crate::sql::postgres::session::Session,
    keys: &BTreeMap<ReuseKey, EntryPlace>,
) -> SqlResult<()> {
    let columns: Vec<&[u8]> = keys.keys().map(|(key, _)| &key.0[..]).collect();
    let kinds: Vec<i64> = keys.keys().map(|(_, kind)| kind.code().into()).collect();
    let blocks: Vec<i64> = keys.values().map(|place| place.block).collect();
    let entries: Vec<i64> = keys.values().map(|place| place.entry as i64).collect();
    let sum = |((key, kind), place): (&ReuseKey, &EntryPlace)| {
        REUSE.sum_of_row(params![key.0, kind.code(), place.block, place.entry as i64])
    };
    let sums: Vec<Vec<u8>> = keys.iter().map(sum).collect();
    session
        .query_lists(&format!("{INSERT_ON_SERVER} {REPLACE}"), &[&columns, &kinds, &blocks, &entries, &sums])
        .map(drop)
}

const INSERT_ON_SERVER: &str = "insert into reuse (key, kind, block, entry, sum)
    select * from unnest(?1::bytea[], ?2::bigint[], ?3::bigint[], ?4::bigint[], ?5::bytea[])";

impl IndexTurn {
    fn begin(transaction: &Transaction<'_>) -> Result<Self, ReadFailure> {
        let (after, _, to) = index_state(transaction)?;
        let mut waiting = Vec::new();
        read_unindexed(transaction, after, to, |key, place| waiting.push((key, place)))?;
        // The sort is stable: of two places of one key the later one stays last and replaces the earlier one.
        waiting.sort_by_key(|(key, _)| *key);
        Ok(Self { after, to, count: waiting.len() as i64, left: waiting.into_iter() })
    }

    fn insert_part(&mut self, transaction: &Transaction<'_>, most: usize) -> Result<(), ReadFailure> {
        if let Some(session) = transaction.server() {
            let part: BTreeMap<ReuseKey, EntryPlace> = self.left.by_ref().take(most).collect();
            return Ok(insert_on_server(session, &part)?);
        }
        let mut insert = REUSE.inserting(transaction, REPLACE)?;
        for ((key, kind), EntryPlace { block, entry }) in self.left.by_ref().take(most) {
            insert.execute(params![key.0, kind.code(), block, entry as i64])?;
        }
        Ok(())
    }

    fn end(self, transaction: &Transaction<'_>) -> Result<i64, ReadFailure> {
        REUSE_STATE.change(transaction, "true", params![], |row| {
            let waiting = row.get::<i64>("waiting")? - self.count;
            row.set("indexed", &self.to);
            row.set("waiting", &waiting);
            Ok(())
        })?;
        Ok(self.to)
    }
}
