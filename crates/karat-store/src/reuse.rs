//! What later runs take over: content key → where the output of a step, or a sound judgment, lies.
//!
//! Keys are hashes, so in one sorted index each insertion hits a page of its own: measured, this costs more than all
//! other writing together. So a block only lists its keys, and the index takes them in, sorted, once [`DUE`] keys wait.
//! A look-up asks the keys that wait (read once from the lists, then kept in memory), then the index. It looks for new
//! lists only when this process has committed something since: what other processes write in the meantime is seen then,
//! or by [`Store::catch_up`].

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use karat_types::Key;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use rustc_hash::FxHashMap;

use crate::cache::Kind;
use crate::encode::Encoded;
use crate::error::ReadFailure;
use crate::pack::{Damage, Packer, Unpacker};
use crate::store::lock;
use crate::{Store, StoreError};

const VERSION: u8 = 1;

/// So many keys wait at most: more make the index cheaper and the first look-up of a process dearer.
const DUE: i64 = 65_536;

pub(crate) const STATE: &str = "select indexed, coalesce((select max(seq) from blocks), 0) from reuse_state";
pub(crate) const WAITING: &str = "select seq, reuse from blocks where seq > ?1 and seq <= ?2 order by seq";
pub(crate) const FIND: &str = "select block, entry from reuse where key = ?1 and kind = ?2";

/// What can be reused: an output or a judgment, by its content key.
pub(crate) type ReuseKey = (Key, Kind);

/// Where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub block: i64,
    pub entry: u64,
}

/// The list of a block's keys, in the order in which they were written.
pub(crate) fn pack_keys(parts: &[&Encoded]) -> Vec<u8> {
    Packer::pack(|packer| {
        packer.byte(VERSION);
        let (mut outputs, mut judgments) = (0, 0);
        for part in parts {
            for (key, entry) in &part.steps {
                pack_key(packer, *key, Kind::Outputs, outputs + entry);
            }
            for (judged, entry) in part.judged.iter().zip(judgments..).filter(|(judged, _)| judged.is_reusable) {
                pack_key(packer, judged.key, Kind::Judgments, entry);
            }
            outputs += part.outputs.len();
            judgments += part.judgments.len();
        }
    })
}

fn pack_key(packer: &mut Packer, key: Key, kind: Kind, entry: u64) {
    packer.key(key);
    packer.byte(kind.code());
    packer.number(entry);
}

pub(crate) fn unpack_keys(block: i64, list: &[u8], mut each: impl FnMut(ReuseKey, Place)) -> Result<(), Damage> {
    let mut unpacker = Unpacker::versioned(list, VERSION)?;
    while !unpacker.is_empty() {
        let key = unpacker.key()?;
        let kind = Kind::of_code(unpacker.byte()?)?;
        each((key, kind), Place { block, entry: unpacker.number()? });
    }
    Ok(())
}

/// Counts the keys that a commit adds, and takes all that wait into the index when it is time.
pub(crate) fn add(transaction: &Transaction<'_>, keys: usize) -> Result<(), ReadFailure> {
    let waiting: i64 = transaction
        .prepare_cached("update reuse_state set waiting = waiting + ?1 returning waiting")?
        .query_row(params![keys as i64], |row| row.get(0))?;
    if waiting < DUE { Ok(()) } else { index_waiting(transaction) }
}

pub(crate) fn index_waiting(transaction: &Transaction<'_>) -> Result<(), ReadFailure> {
    let (indexed, newest) = transaction.prepare_cached(STATE)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut waiting = Vec::new();
    read_waiting(transaction, indexed, newest, |key, place| waiting.push((key, place)))?;
    // Stable: of two places of one key the later stays the later, and replaces the earlier.
    waiting.sort_by_key(|(key, _)| *key);
    let mut insert =
        transaction.prepare_cached("insert or replace into reuse (key, kind, block, entry) values (?1, ?2, ?3, ?4)")?;
    for ((key, kind), Place { block, entry }) in waiting {
        insert.execute(params![key.0, kind.code(), block, entry as i64])?;
    }
    transaction.prepare_cached("update reuse_state set indexed = ?1, waiting = 0")?.execute(params![newest])?;
    Ok(())
}

fn read_waiting(
    connection: &Connection,
    after: i64,
    to: i64,
    mut each: impl FnMut(ReuseKey, Place),
) -> Result<(), ReadFailure> {
    let mut statement = connection.prepare_cached(WAITING)?;
    let mut rows = statement.query(params![after, to])?;
    while let Some(row) = rows.next()? {
        unpack_keys(row.get(0)?, row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?, &mut each)?;
    }
    Ok(())
}

/// What this process knows of the keys that wait and of the index.
#[derive(Debug, Default)]
pub(crate) struct KnownKeys {
    known: Mutex<Known>,
    /// Commits of this process.
    commits: AtomicU64,
}

#[derive(Debug, Default)]
struct Known {
    /// Commits of this process that were seen; `None` before the first look.
    commits: Option<u64>,
    /// The last block that was in the index, and the last whose list was read.
    indexed: i64,
    read: i64,
    waiting: FxHashMap<ReuseKey, Place>,
}

impl Store {
    /// Looks for results that other processes have written. Look-ups do so after every commit of this process; a run
    /// that begins, and whoever reads without writing, asks for it.
    ///
    /// # Errors
    /// The lists of new results cannot be read.
    pub fn catch_up(&self) -> Result<(), StoreError> {
        self.read("the keys of reusable results", |connection| lock(&self.0.known_keys.known).refresh(connection))
    }
}

impl KnownKeys {
    /// Says that this process has committed something.
    pub fn committed(&self) {
        self.commits.fetch_add(1, Ordering::Release);
    }

    /// The latest place of a key. Most keys are new, and nearly always that is known without asking SQLite.
    pub fn find(&self, connection: &Connection, key: ReuseKey) -> Result<Option<Place>, ReadFailure> {
        let is_indexed = {
            let commits = self.commits.load(Ordering::Acquire);
            let mut known = lock(&self.known);
            if known.commits != Some(commits) {
                known.refresh(connection)?;
                known.commits = Some(commits);
            }
            if let Some(place) = known.waiting.get(&key) {
                return Ok(Some(*place));
            }
            known.indexed > 0
        };
        let (key, kind) = key;
        if !is_indexed {
            return Ok(None);
        }
        Ok(connection
            .prepare_cached(FIND)?
            .query_row(params![key.0, kind.code()], |row| {
                Ok(Place { block: row.get(0)?, entry: row.get::<_, i64>(1)?.unsigned_abs() })
            })
            .optional()?)
    }
}

impl Known {
    /// Reads the lists that are new, in one snapshot.
    fn refresh(&mut self, connection: &Connection) -> Result<(), ReadFailure> {
        let snapshot = connection.unchecked_transaction()?;
        let (indexed, newest) = snapshot.prepare_cached(STATE)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if indexed != self.indexed {
            *self = Self { indexed, read: indexed, ..Self::default() };
        }
        if newest > self.read {
            let waiting = &mut self.waiting;
            read_waiting(&snapshot, self.read, newest, |key, place| {
                waiting.insert(key, place);
            })?;
            self.read = newest;
        }
        Ok(())
    }
}
