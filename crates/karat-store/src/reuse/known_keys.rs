//! The keys of reusable results: content key → place of the output of a step, or of a sound judgment.
//!
//! Keys are hashes, so in a sorted index each insertion touches a page of its own; measured, this costs more than all
//! other writing together. So a block only lists its keys, and the index receives them sorted once many wait (see
//! `index_writer`). A look-up first asks the waiting keys, which are read once and then kept in memory, and then the
//! index. Most looked-up keys are new: a process that has seen all keys since the store was created knows that
//! without a query ([`KeyFilter`]). Results that other processes write are noticed at this process's next commit,
//! because its block does not follow the last known one, or by [`Store::catch_up`](crate::Store::catch_up).

use std::sync::Mutex;
use std::time::Duration;

use karat_types::Key;
use rustc_hash::FxHashMap;
use tokio::time::Instant;

use crate::block::pack::{Packer, Unpacker};
use crate::block::section_cache::{EntryPlace, ReuseKey, SectionKind};
use crate::error::{Damage, ReadFailure};
use crate::format::encode::Encoded;
use crate::reuse::key_filter::KeyFilter;
use crate::sql::mutex::lock;
use crate::sql::tables::{BLOCKS, REUSE, REUSE_STATE};
use crate::sql::{Connection, Row, SqlError, params};

const VERSION: u8 = 1;

const NEWEST: &str = "select coalesce(max(seq), 0) from blocks";
/// A list without keys has one byte, its version.
pub(crate) const WAITING: &str = "from blocks where seq > ?1 and seq <= ?2 and length(reuse) > 1 order by seq";
/// The end of the insertion of a key: the later place replaces the earlier one.
pub(crate) const REPLACE: &str = "on conflict (key, kind) do update set block = excluded.block, entry = excluded.entry,
    sum = excluded.sum";
pub(crate) const FIND: &str = "from reuse where key = ?1 and kind = ?2";
const INDEX: &str = "from reuse limit ?1";

/// Number of keys from which on a filter saves more time than it takes to build.
const MIN_FILTERED_KEYS: usize = 4096;

/// Number of places that are kept from the index, a few megabytes.
const MAX_PLACES: usize = 1 << 17;

/// Number of looked-up places after which the whole index is read: reading them one by one takes twenty times as
/// long.
const HITS_TO_READ_ALL: usize = 256;

/// Time for which places from the index are trusted: another process may invalidate results.
const PLACES_EXPIRE_AFTER: Duration = Duration::from_secs(10);

/// Packs the list of a block's keys, in the order in which they were written.
pub(crate) fn pack_keys(parts: &[&Encoded]) -> Vec<u8> {
    Packer::pack(|packer| {
        packer.byte(VERSION);
        let (mut outputs, mut judgments) = (0, 0);
        for part in parts {
            for (key, entry) in &part.steps {
                pack_key(packer, *key, SectionKind::Outputs, outputs + entry);
            }
            for (judged, entry) in part.judged.iter().zip(judgments..).filter(|(judged, _)| judged.is_reusable) {
                pack_key(packer, judged.key, SectionKind::Judgments, entry);
            }
            outputs += part.outputs.len();
            judgments += part.judgments.len();
        }
    })
}

/// Packs a list of keys.
pub(crate) fn pack_list(keys: &[(ReuseKey, EntryPlace)]) -> Vec<u8> {
    Packer::pack(|packer| {
        packer.byte(VERSION);
        keys.iter().for_each(|((key, kind), place)| pack_key(packer, *key, *kind, place.entry));
    })
}

fn pack_key(packer: &mut Packer, key: Key, kind: SectionKind, entry: u64) {
    packer.key(key);
    packer.byte(kind.code());
    packer.number(entry);
}

pub(crate) fn unpack_keys(block: i64, list: &[u8], mut each: impl FnMut(ReuseKey, EntryPlace)) -> Result<(), Damage> {
    let mut unpacker = Unpacker::of_version(list, VERSION)?;
    while !unpacker.is_empty() {
        let key = unpacker.key()?;
        let kind = SectionKind::of_code(unpacker.byte()?)?;
        each((key, kind), EntryPlace { block, entry: unpacker.number()? });
    }
    Ok(())
}

/// Reads the key lists of the blocks after `after` up to `to`.
pub(crate) fn read_unindexed(
    connection: &Connection,
    after: i64,
    to: i64,
    mut each: impl FnMut(ReuseKey, EntryPlace),
) -> Result<(), ReadFailure> {
    let mut statement = connection.prepare_long(&list_query(connection, WAITING))?;
    let mut rows = statement.query(params![after, to])?;
    while let Some(row) = rows.next()? {
        let (block, _, list) = read_list(&row)?;
        unpack_keys(block, list, &mut each)?;
    }
    Ok(())
}

/// The query of lists of keys that ends so: block, run, list.
pub(crate) fn list_query(connection: &Connection, end: &str) -> String {
    format!("select {} {end}", BLOCKS.select(connection, &["reuse"]))
}

/// Checks a row of [`list_query`].
pub(crate) fn read_list<'r>(row: &Row<'r>) -> Result<(i64, i64, &'r [u8]), ReadFailure> {
    BLOCKS.check(row, &["reuse"])?;
    Ok((row.get(0)?, row.get(1)?, row.blob(2)?))
}

/// Reads the place of a key from the index.
pub(crate) fn find_indexed(connection: &Connection, (key, kind): ReuseKey) -> Result<Option<EntryPlace>, ReadFailure> {
    let mut statement = connection.prepare_cached(&index_query(connection, FIND))?;
    let mut rows = statement.query(params![key.0, kind.code()])?;
    rows.next()?.map(|row| Ok(read_indexed(&row)?.1)).transpose()
}

fn index_query(connection: &Connection, end: &str) -> String {
    format!("select {} {end}", REUSE.select(connection, &[]))
}

fn read_indexed(row: &Row<'_>) -> Result<(ReuseKey, EntryPlace), ReadFailure> {
    REUSE.check(row, &[])?;
    let place = EntryPlace { block: row.get(2)?, entry: row.get::<i64>(3)?.unsigned_abs() };
    Ok(((Key(row.get(0)?), SectionKind::of_code(row.get(1)?)?), place))
}

/// The last block whose keys are in the index, the keys that wait for it, and the last block.
pub(crate) fn index_state(connection: &Connection) -> Result<(i64, i64, i64), ReadFailure> {
    let select = format!("select {} from reuse_state", REUSE_STATE.select(connection, &[]));
    let mut statement = connection.prepare_cached(&select)?;
    let mut rows = statement.query(params![])?;
    let row = rows.next()?.ok_or(SqlError::NoRow)?;
    REUSE_STATE.check(&row, &[])?;
    let (indexed, waiting) = (row.get(0)?, row.get(1)?);
    let newest = connection.prepare_cached(NEWEST)?.query_row(params![], |row| row.get(0))?;
    Ok((indexed, waiting, newest))
}

/// Reads the index, up to the number of places that are kept.
fn read_index(connection: &Connection) -> Result<Vec<(ReuseKey, EntryPlace)>, ReadFailure> {
    let mut statement = connection.prepare_cached(&index_query(connection, INDEX))?;
    let mut rows = statement.query(params![(MAX_PLACES - HITS_TO_READ_ALL) as i64])?;
    let mut index = Vec::new();
    while let Some(row) = rows.next()? {
        // One that is damaged is told when it is looked up.
        index.extend(read_indexed(&row).ok());
    }
    Ok(index)
}

/// The keys that this process knows: those that wait and those read from the index.
#[derive(Debug, Default)]
pub(crate) struct KnownKeys(Mutex<KeyState>);

#[derive(Debug, Default)]
struct KeyState {
    /// `true` while it matches the store's content after the last commit of this process.
    is_present: bool,
    /// The last block that is in the index, and the last block whose list was read.
    indexed: i64,
    read: i64,
    waiting: FxHashMap<ReuseKey, EntryPlace>,
    recent: RecentPlaces,
    /// All keys ever listed, if this process has seen all of them and they are many.
    filter: Option<KeyFilter>,
    /// `true` if this process has seen every key since the store was created, so that until the first insertion the
    /// index has no other.
    is_complete: bool,
}

/// Places read from the index: an estimate looks them up, and its run uses them without asking again. Dropped when
/// this process learns that the index has changed.
#[derive(Debug, Default)]
struct RecentPlaces {
    places: FxHashMap<ReuseKey, EntryPlace>,
    /// Time at which the first of them was read.
    since: Option<Instant>,
    /// Number of times they were dropped.
    age: u64,
}

impl RecentPlaces {
    fn drop_all(&mut self) {
        self.places.clear();
        self.since = None;
        self.age += 1;
    }

    fn get(&mut self, key: ReuseKey) -> Option<EntryPlace> {
        if self.since.is_some_and(|since| since.elapsed() > PLACES_EXPIRE_AFTER) {
            self.drop_all();
        }
        self.places.get(&key).copied()
    }

    /// Keeps a place that was read at this age. Returns `true` if so many were looked up that the rest of the index
    /// will be, too.
    fn keep(&mut self, key: ReuseKey, place: EntryPlace, age: u64) -> bool {
        if self.age != age || self.places.len() >= MAX_PLACES {
            return false;
        }
        self.since.get_or_insert_with(Instant::now);
        self.places.insert(key, place).is_none() && self.places.len() == HITS_TO_READ_ALL
    }

    /// Keeps all places of the index that were read at this age.
    fn keep_all(&mut self, index: Vec<(ReuseKey, EntryPlace)>, age: u64) {
        if self.age == age {
            self.places.extend(index);
        }
    }
}

impl KnownKeys {
    /// Adds the key lists of the blocks that a commit of this process has written, and notes how far the index
    /// reached. If another process has written in between, the next look-up reads everything that is new.
    pub fn add_committed<'l>(&self, indexed: i64, blocks: impl IntoIterator<Item = (i64, &'l [u8])>) {
        let mut known = lock(&self.0);
        for (block, list) in blocks {
            if !known.is_present || block <= known.read {
                continue;
            }
            match unpack_keys(block, list, |key, place| known.add_waiting(key, place)) {
                Ok(()) if block == known.read + 1 => known.read = block,
                _ => known.is_present = false,
            }
        }
        if known.is_present && known.indexed != indexed {
            known.note_indexed(indexed);
        }
    }

    /// Discards everything after an invalidation.
    pub fn discard(&self) {
        lock(&self.0).discard_keys(0);
    }

    /// Reads the keys that other processes have written.
    pub fn refresh(&self, connection: &Connection) -> Result<(), ReadFailure> {
        lock(&self.0).refresh(connection)
    }

    /// Returns the answer for a key if memory has it; `None` means that the index must be asked.
    pub fn recall(&self, key: ReuseKey) -> Option<Option<EntryPlace>> {
        lock(&self.0).recall(key)
    }

    /// Returns the latest place of a key.
    pub fn find(&self, connection: &Connection, key: ReuseKey) -> Result<Option<EntryPlace>, ReadFailure> {
        let age = {
            let mut known = lock(&self.0);
            if !known.is_present {
                known.refresh(connection)?;
            }
            // Checked while the waiting keys are still the ones just read: the index does not have those.
            if let Some(found) = known.recall(key) {
                return Ok(found);
            }
            known.recent.age
        };
        let found = find_indexed(connection, key)?;
        let is_one_of_many = found.is_some_and(|place| lock(&self.0).recent.keep(key, place, age));
        if is_one_of_many {
            let index = read_index(connection)?;
            lock(&self.0).recent.keep_all(index, age);
        }
        Ok(found)
    }
}

impl KeyState {
    fn recall(&mut self, key: ReuseKey) -> Option<Option<EntryPlace>> {
        if !self.is_present {
            return None;
        }
        match self.waiting.get(&key).copied().or_else(|| self.recent.get(key)) {
            None if self.may_be_indexed(key) => None,
            found => Some(found),
        }
    }

    fn add_waiting(&mut self, key: ReuseKey, place: EntryPlace) {
        self.waiting.insert(key, place);
        if let Some(filter) = &mut self.filter {
            filter.add(key.0);
        } else if self.is_complete && self.waiting.len() >= MIN_FILTERED_KEYS {
            let filter = self.filter.insert(KeyFilter::new());
            self.waiting.keys().for_each(|(key, _)| filter.add(*key));
        }
    }

    /// Discards everything except how far the index reaches.
    fn discard_keys(&mut self, indexed: i64) {
        let mut recent = std::mem::take(&mut self.recent);
        recent.drop_all();
        *self = Self { indexed, read: indexed, recent, ..Self::default() };
    }

    /// Notes that a commit of this process has inserted the waiting keys up to this block.
    fn note_indexed(&mut self, indexed: i64) {
        if indexed > self.read {
            self.is_present = false;
            return;
        }
        self.indexed = indexed;
        self.is_complete = false;
        self.recent.drop_all();
        self.waiting.retain(|_, place| place.block > indexed);
    }

    fn may_be_indexed(&self, (key, _): ReuseKey) -> bool {
        self.indexed > 0 && self.filter.as_ref().is_none_or(|filter| filter.may_contain(key))
    }

    /// Reads the lists that are new, in one snapshot.
    fn refresh(&mut self, connection: &Connection) -> Result<(), ReadFailure> {
        let snapshot = connection.snapshot()?;
        let (indexed, _, newest) = index_state(&snapshot)?;
        if indexed != self.indexed {
            self.discard_keys(indexed);
        }
        self.is_complete |= indexed == 0 && self.read == 0;
        if newest > self.read {
            read_unindexed(&snapshot, self.read, newest, |key, place| self.add_waiting(key, place))?;
            self.read = newest;
        }
        self.is_present = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A result that another process invalidates is not reused for much longer.
    #[tokio::test(start_paused = true)]
    async fn places_from_the_index_expire() {
        let (key, place) = ((Key([1; 16]), SectionKind::Outputs), EntryPlace { block: 7, entry: 0 });
        let mut found = RecentPlaces::default();
        found.keep(key, place, 0);
        tokio::time::advance(PLACES_EXPIRE_AFTER).await;
        assert_eq!(found.get(key), Some(place));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(found.get(key), None);
        // A look-up that started before they were dropped is ignored.
        found.keep(key, place, 0);
        assert_eq!(found.get(key), None);
        found.keep(key, place, 1);
        assert_eq!(found.get(key), Some(place));
    }
}
