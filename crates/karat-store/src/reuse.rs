//! What later runs take over: content key → where the output of a step, or a sound judgment, lies.
//!
//! Keys are hashes, so in one sorted index each insertion hits a page of its own: measured, this costs more than all
//! other writing together. So a block only lists its keys, and the index takes them in, sorted, once many wait
//! ([`crate::indexing`]). A look-up asks the keys that wait (read once from the lists, then kept in memory, where each
//! commit adds its own), then the index. Most look-ups are of keys that nobody has: a process that was there when the
//! index began knows that without asking it ([`KeyFilter`]). What other processes write in the meantime is seen when this one commits, because its block
//! does not follow on the last one that it knows, or by [`Store::catch_up`].

use std::sync::Mutex;
use std::time::Duration;

use karat_types::Key;
use rusqlite::{Connection, OptionalExtension, Row, params};
use rustc_hash::FxHashMap;
use tokio::time::Instant;

use crate::cache::Kind;
use crate::encode::Encoded;
use crate::error::ReadFailure;
use crate::filter::KeyFilter;
use crate::lock::lock;
use crate::pack::{Damage, Packer, Unpacker};

const VERSION: u8 = 1;

pub(crate) const STATE: &str = "select indexed, coalesce((select max(seq) from blocks), 0) from reuse_state";
/// A list without keys has one byte, its version.
pub(crate) const WAITING: &str =
    "select seq, reuse from blocks where seq > ?1 and seq <= ?2 and length(reuse) > 1 order by seq";
pub(crate) const INSERT: &str = "insert or replace into reuse (key, kind, block, entry) values (?1, ?2, ?3, ?4)";
pub(crate) const FIND: &str = "select block, entry from reuse where key = ?1 and kind = ?2";
const INDEX: &str = "select key, kind, block, entry from reuse limit ?1";

/// With fewer keys, making the filter takes longer than it spares.
const FILTERED: usize = 4096;

/// So many places are kept that the index had, a few megabytes,
const FOUND: usize = 1 << 17;

/// read as a whole once it had so many of those that were asked for: one by one takes twenty times as long,
const MANY: usize = 256;

/// and no longer than this: another process may take results out of reuse.
const FOUND_LASTS: Duration = Duration::from_secs(10);

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

/// Reads the lists of the blocks behind one up to another.
pub(crate) fn read_waiting(
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

fn place_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Place> {
    Ok(Place { block: row.get(column)?, entry: row.get::<_, i64>(column + 1)?.unsigned_abs() })
}

/// The index, or as many of its first keys as are kept.
fn read_index(connection: &Connection) -> Result<Vec<(ReuseKey, Place)>, ReadFailure> {
    let mut statement = connection.prepare_cached(INDEX)?;
    let mut rows = statement.query(params![(FOUND - MANY) as i64])?;
    let mut index = Vec::new();
    while let Some(row) = rows.next()? {
        index.push(((Key(row.get(0)?), Kind::of_code(row.get(1)?)?), place_at(row, 2)?));
    }
    Ok(index)
}

/// What this process knows of the keys that wait and of the index.
#[derive(Debug, Default)]
pub(crate) struct KnownKeys(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Whether it is what the store held after the last commit of this process.
    is_present: bool,
    /// The last block that is in the index, and the last whose list was read.
    indexed: i64,
    read: i64,
    waiting: FxHashMap<ReuseKey, Place>,
    found: Found,
    /// All keys that were ever listed, where this process has seen each of them come and they are many.
    filter: Option<KeyFilter>,
    /// Whether it has: then the keys that wait are all of them until the index takes some in.
    is_complete: bool,
}

/// Places that the index had when it was asked: what an estimate finds, its run takes over without asking again. Gone as
/// soon as this process knows that the index has changed.
#[derive(Debug, Default)]
struct Found {
    places: FxHashMap<ReuseKey, Place>,
    /// Since when the first of them is known.
    since: Option<Instant>,
    /// How often they were dropped.
    age: u64,
}

impl Found {
    fn drop_all(&mut self) {
        self.places.clear();
        self.since = None;
        self.age += 1;
    }

    fn get(&mut self, key: ReuseKey) -> Option<Place> {
        if self.since.is_some_and(|since| since.elapsed() > FOUND_LASTS) {
            self.drop_all();
        }
        self.places.get(&key).copied()
    }

    /// Keeps what the index had when they were of this age. Says whether it has been asked for so much that the rest of it
    /// will be, too.
    fn keep(&mut self, key: ReuseKey, place: Place, age: u64) -> bool {
        if self.age != age || self.places.len() >= FOUND {
            return false;
        }
        self.since.get_or_insert_with(Instant::now);
        self.places.insert(key, place).is_none() && self.places.len() == MANY
    }

    /// Keeps all that the index had when they were of this age.
    fn keep_all(&mut self, index: Vec<(ReuseKey, Place)>, age: u64) {
        if self.age == age {
            self.places.extend(index);
        }
    }
}

impl KnownKeys {
    /// Takes in the lists of the blocks that a commit of this process has written, and how far the index reached then.
    /// Where another process has written in between, the next look-up reads everything that is new.
    pub fn committed<'l>(&self, indexed: i64, blocks: impl IntoIterator<Item = (i64, &'l [u8])>) {
        let mut known = lock(&self.0);
        for (block, list) in blocks {
            if !known.is_present || block <= known.read {
                continue;
            }
            match unpack_keys(block, list, |key, place| known.waits(key, place)) {
                Ok(()) if block == known.read + 1 => known.read = block,
                _ => known.is_present = false,
            }
        }
        if known.is_present && known.indexed != indexed {
            known.indexed(indexed);
        }
    }

    /// Says that keys were taken out of reuse.
    pub fn changed(&self) {
        lock(&self.0).forget(0);
    }

    /// Takes in what other processes have written.
    pub fn refresh(&self, connection: &Connection) -> Result<(), ReadFailure> {
        lock(&self.0).refresh(connection)
    }

    /// What is known of a key without asking SQLite; `None` where it has to be asked.
    pub fn recall(&self, key: ReuseKey) -> Option<Option<Place>> {
        lock(&self.0).recall(key)
    }

    /// The latest place of a key.
    pub fn find(&self, connection: &Connection, key: ReuseKey) -> Result<Option<Place>, ReadFailure> {
        let age = {
            let mut known = lock(&self.0);
            if !known.is_present {
                known.refresh(connection)?;
            }
            // Before anybody else learns that there is more to read: the index has nothing of what waits.
            if let Some(found) = known.recall(key) {
                return Ok(found);
            }
            known.found.age
        };
        let place = |row: &Row<'_>| place_at(row, 0);
        let found = connection.prepare_cached(FIND)?.query_row(params![key.0.0, key.1.code()], place).optional()?;
        let is_one_of_many = found.is_some_and(|place| lock(&self.0).found.keep(key, place, age));
        if is_one_of_many {
            let index = read_index(connection)?;
            lock(&self.0).found.keep_all(index, age);
        }
        Ok(found)
    }
}

impl Known {
    fn recall(&mut self, key: ReuseKey) -> Option<Option<Place>> {
        if !self.is_present {
            return None;
        }
        match self.waiting.get(&key).copied().or_else(|| self.found.get(key)) {
            None if self.may_be_indexed(key) => None,
            found => Some(found),
        }
    }

    fn waits(&mut self, key: ReuseKey, place: Place) {
        self.waiting.insert(key, place);
        if let Some(filter) = &mut self.filter {
            filter.add(key.0);
        } else if self.is_complete && self.waiting.len() >= FILTERED {
            let filter = self.filter.insert(KeyFilter::new());
            self.waiting.keys().for_each(|(key, _)| filter.add(*key));
        }
    }

    /// Knows nothing any more but how far the index reaches.
    fn forget(&mut self, indexed: i64) {
        let mut found = std::mem::take(&mut self.found);
        found.drop_all();
        *self = Self { indexed, read: indexed, found, ..Self::default() };
    }

    /// The commit that this process has just made has taken what waited into the index, up to this block.
    fn indexed(&mut self, indexed: i64) {
        if indexed > self.read {
            self.is_present = false;
            return;
        }
        self.indexed = indexed;
        self.is_complete = false;
        self.found.drop_all();
        self.waiting.retain(|_, place| place.block > indexed);
    }

    fn may_be_indexed(&self, (key, _): ReuseKey) -> bool {
        self.indexed > 0 && self.filter.as_ref().is_none_or(|filter| filter.may_hold(key))
    }

    /// Reads the lists that are new, in one snapshot.
    fn refresh(&mut self, connection: &Connection) -> Result<(), ReadFailure> {
        let snapshot = connection.unchecked_transaction()?;
        let (indexed, newest) = snapshot.prepare_cached(STATE)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if indexed != self.indexed {
            self.forget(indexed);
        }
        self.is_complete |= indexed == 0 && self.read == 0;
        if newest > self.read {
            read_waiting(&snapshot, self.read, newest, |key, place| self.waits(key, place))?;
            self.read = newest;
        }
        self.is_present = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What another process takes out of reuse is not taken over much longer.
    #[tokio::test(start_paused = true)]
    async fn what_was_found_is_known_for_a_while() {
        let (key, place) = ((Key([1; 16]), Kind::Outputs), Place { block: 7, entry: 0 });
        let mut found = Found::default();
        found.keep(key, place, 0);
        tokio::time::advance(FOUND_LASTS).await;
        assert_eq!(found.get(key), Some(place));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(found.get(key), None);
        // A look-up that was under way when they were dropped comes too late.
        found.keep(key, place, 0);
        assert_eq!(found.get(key), None);
        found.keep(key, place, 1);
        assert_eq!(found.get(key), Some(place));
    }
}
