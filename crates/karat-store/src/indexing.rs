//! How keys come into the index of reusable results: sorted, many at a time, and a part of them with each commit.
//!
//! Once [`DUE`] keys wait, a process that writes many of them sorts them, and each commit from then on takes the next
//! part along, so that none takes much longer than others; the parts follow each other in the index, so its pages are
//! written about once. The index counts as further on only when the last part is in it: until then a process that ends,
//! or another that is faster, loses work and nothing else. Processes that write little leave it to others, up to [`MOST`]
//! keys, which are taken in at once.

use rusqlite::{Transaction, params};

use crate::error::ReadFailure;
use crate::reuse::{INSERT, Place, ReuseKey, STATE, read_waiting};

/// So many keys wait before they are taken in: more make the index cheaper and the first look-up of a process dearer.
const DUE: i64 = 65_536;

/// A process that has written so many will hardly end before they are.
const MANY: usize = 4096;

/// For each key that a commit adds, so many are taken in; of [`DUE`], the last is before half as many again have come.
const PART: usize = 2;

/// With so many waiting, nobody has had the time.
const MOST: i64 = 2 * DUE;

/// What a writer has done of it.
#[derive(Debug, Default)]
pub(crate) struct Indexing {
    /// The keys that this process has written.
    written: usize,
    turn: Option<Turn>,
}

/// The keys of the blocks behind one up to another, in the order of the index.
#[derive(Debug)]
struct Turn {
    after: i64,
    to: i64,
    count: i64,
    left: std::vec::IntoIter<(ReuseKey, Place)>,
}

impl Indexing {
    /// Counts the keys that a commit adds, and takes some that wait into the index when it is time. Says which block is the
    /// last of those that are in it completely. A commit that fails takes [`Indexing`] with it.
    pub fn add(&mut self, transaction: &Transaction<'_>, keys: usize) -> Result<i64, ReadFailure> {
        // Two statements: rows that a changing statement returns go through a table of their own, made for each.
        let (waited, indexed): (i64, i64) = transaction
            .prepare_cached("select waiting, indexed from reuse_state")?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let waiting = waited + keys as i64;
        if keys > 0 {
            transaction.prepare_cached("update reuse_state set waiting = ?1")?.execute(params![waiting])?;
        }
        self.written += keys;
        // Another process, or a withdrawal, has taken in what this turn has: from now on it would undo what came later.
        let turn = self.turn.take().filter(|turn| turn.after == indexed);
        if waiting >= MOST {
            return index_waiting(transaction);
        }
        let is_due = waiting >= DUE && self.written >= MANY;
        let Some(mut turn) = turn else {
            self.turn = is_due.then(|| Turn::begin(transaction)).transpose()?;
            return Ok(indexed);
        };
        turn.go_on(transaction, PART * keys)?;
        if turn.left.len() > 0 {
            self.turn = Some(turn);
            return Ok(indexed);
        }
        turn.end(transaction)
    }
}

/// Takes all keys that wait into the index, and says which block is now the last in it.
pub(crate) fn index_waiting(transaction: &Transaction<'_>) -> Result<i64, ReadFailure> {
    let mut turn = Turn::begin(transaction)?;
    turn.go_on(transaction, usize::MAX)?;
    turn.end(transaction)
}

impl Turn {
    fn begin(transaction: &Transaction<'_>) -> Result<Self, ReadFailure> {
        let (after, to) = transaction.prepare_cached(STATE)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut waiting = Vec::new();
        read_waiting(transaction, after, to, |key, place| waiting.push((key, place)))?;
        // Stable: of two places of one key the later stays the later, and replaces the earlier.
        waiting.sort_by_key(|(key, _)| *key);
        Ok(Self { after, to, count: waiting.len() as i64, left: waiting.into_iter() })
    }

    fn go_on(&mut self, transaction: &Transaction<'_>, most: usize) -> Result<(), ReadFailure> {
        let mut insert = transaction.prepare_cached(INSERT)?;
        for ((key, kind), Place { block, entry }) in self.left.by_ref().take(most) {
            insert.execute(params![key.0, kind.code(), block, entry as i64])?;
        }
        Ok(())
    }

    fn end(self, transaction: &Transaction<'_>) -> Result<i64, ReadFailure> {
        transaction
            .prepare_cached("update reuse_state set indexed = ?1, waiting = waiting - ?2")?
            .execute(params![self.to, self.count])?;
        Ok(self.to)
    }
}
