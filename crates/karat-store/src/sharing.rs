//! Who shares which results: what an invalidation may take, and for whom the rest stays.
//!
//! ```text
//! a run is live for a result   one of its cells rests on it, has its output, is not asked for, and was not taken out of
//!                              reuse before
//! a cell taken out before      rests on copies that its own run has made, and on nothing else
//! a result stays               while a live run has made the present copy, or has made no copy of its own
//! a result goes                else; the newest copy that a live run made takes its place
//! ```

use std::collections::{BTreeMap, BTreeSet};

use karat_types::Key;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::OrdinalSet;
use crate::cache::Kind;
use crate::error::ReadFailure;
use crate::indexing;
use crate::reuse::{self, Place, ReuseKey};

const LISTS: &str = "select seq, run, reuse from blocks order by seq";
const RELEASED: &str = "select run, ordinal from released";
const RELEASE: &str = "insert or ignore into released (run, ordinal) values (?1, ?2)";

/// A result that a run rests on and other runs may take over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reusable {
    /// Its content key.
    pub key: Key,
    /// Whether it is a judgment; else it is a step's output.
    pub is_judgment: bool,
    /// The cells of the run that rest on it, by their places in the plan.
    pub cells: Vec<u64>,
    /// Other runs that rest on it.
    pub used_by: BTreeSet<String>,
}

/// What an invalidation takes out of reuse, or would.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Withdrawal {
    /// What goes.
    pub gone: Vec<Reusable>,
    /// What was asked for and stays, because other cells or runs rest on it that were not taken out of reuse.
    pub kept: Vec<Reusable>,
}

/// A cell that rests on results.
pub(crate) struct User {
    pub run: i64,
    pub name: String,
    pub ordinal: u64,
}

impl User {
    /// Reads a row that begins with number and name of the run and the cell's place.
    pub fn of(row: &Row<'_>) -> Result<Self, ReadFailure> {
        Ok(Self { run: row.get(0)?, name: row.get(1)?, ordinal: row.get::<_, i64>(2)?.unsigned_abs() })
    }
}

/// A result while it is found out who rests on it.
#[derive(Default)]
struct Candidate {
    /// The run that made each copy and where it lies, oldest first: the last is what is taken over.
    copies: Vec<(i64, Place)>,
    /// The runs that are live for it, with their names.
    live: BTreeMap<i64, String>,
    /// The cells asked for that rest on it.
    cells: BTreeSet<u64>,
}

impl Candidate {
    fn maker(&self) -> Option<i64> {
        self.copies.last().map(|(run, _)| *run)
    }

    fn needed_by(&self) -> impl Iterator<Item = (i64, &String)> {
        let has_own = |run| self.maker() != Some(run) && self.copies.iter().any(|(maker, _)| *maker == run);
        self.live.iter().map(|(run, name)| (*run, name)).filter(move |(run, _)| !has_own(*run))
    }

    fn goes(&self) -> bool {
        self.needed_by().next().is_none()
    }

    /// The copy that takes its place.
    fn successor(&self) -> Option<Place> {
        self.copies.iter().rev().find(|(run, _)| self.live.contains_key(run)).map(|(_, place)| *place)
    }

    /// Leaves the copies up to the one that is taken over, or none where none is.
    fn keep_present(&mut self, connection: &Connection, key: ReuseKey, indexed: i64) -> Result<(), ReadFailure> {
        if self.copies.last().is_some_and(|(_, place)| place.block > indexed) {
            return Ok(());
        }
        let present: Option<i64> = connection
            .prepare_cached(reuse::FIND)?
            .query_row(params![key.0.0, key.1.code()], |row| row.get(0))
            .optional()?;
        self.copies.retain(|(_, place)| present.is_some_and(|present| place.block <= present));
        Ok(())
    }
}

/// What cells of a run rest on and other runs may take over.
pub(crate) struct Candidates {
    pub run: i64,
    /// The cells asked for; `None` asks for all of the run.
    wanted: Option<OrdinalSet>,
    /// Those of them that were found.
    found: OrdinalSet,
    /// The cells of each run that were taken out of reuse before.
    released: FxHashMap<i64, OrdinalSet>,
    all: FxHashMap<ReuseKey, Candidate>,
}

impl Candidates {
    pub fn new(connection: &Connection, run: i64, wanted: Option<OrdinalSet>) -> Result<Self, ReadFailure> {
        let mut released: FxHashMap<i64, OrdinalSet> = FxHashMap::default();
        let mut statement = connection.prepare_cached(RELEASED)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            released.entry(row.get(0)?).or_default().insert(row.get::<_, i64>(1)?.unsigned_abs());
        }
        Ok(Self { run, wanted, found: OrdinalSet::default(), released, all: FxHashMap::default() })
    }

    /// Whether a cell was asked for.
    pub fn is_asked(&self, user: &User) -> bool {
        user.run == self.run && self.wanted.as_ref().is_none_or(|wanted| wanted.contains(user.ordinal))
    }

    /// Reads the lists of all blocks: where the results lie that `rests_on` names, and those that were made by the run or
    /// by one that was taken out of reuse before.
    pub fn list(&mut self, connection: &Connection, rests_on: &FxHashSet<ReuseKey>) -> Result<(), ReadFailure> {
        let (own, released, all) = (self.run, &self.released, &mut self.all);
        each_list(connection, |_, run, key, _| {
            if run == own || released.contains_key(&run) || rests_on.contains(&key) {
                all.entry(key).or_default();
            }
        })?;
        each_list(connection, |_, run, key, place| {
            if let Some(candidate) = all.get_mut(&key) {
                candidate.copies.push((run, place));
            }
        })?;
        let indexed: i64 = connection.query_row(reuse::STATE, [], |row| row.get(0))?;
        for (key, candidate) in all.iter_mut() {
            candidate.keep_present(connection, *key, indexed)?;
        }
        all.retain(|_, candidate| !candidate.copies.is_empty());
        Ok(())
    }

    /// Every copy of every output.
    pub fn outputs(&self) -> impl Iterator<Item = (Key, Place)> {
        let outputs = self.all.iter().filter(|((_, kind), _)| *kind == Kind::Outputs);
        outputs.flat_map(|((key, _), candidate)| candidate.copies.iter().map(|(_, place)| (*key, *place)))
    }

    /// Notes that a cell rests on a result.
    pub fn used(&mut self, key: ReuseKey, user: &User) {
        let is_asked = self.is_asked(user);
        if is_asked {
            self.found.insert(user.ordinal);
        }
        let Some(candidate) = self.all.get_mut(&key) else { return };
        let is_released = self.released.get(&user.run).is_some_and(|released| released.contains(user.ordinal));
        if is_asked && (!is_released || candidate.maker() == Some(self.run)) {
            candidate.cells.insert(user.ordinal);
        } else if !is_asked && !is_released {
            candidate.live.entry(user.run).or_insert_with(|| user.name.clone());
        }
    }

    fn asked(&self) -> impl Iterator<Item = (&ReuseKey, &Candidate)> {
        let is_own = |candidate: &Candidate| self.wanted.is_none() && candidate.maker() == Some(self.run);
        self.all.iter().filter(move |(_, candidate)| is_own(candidate) || !candidate.cells.is_empty())
    }

    /// Takes what goes out of the index, and writes down that the cells rest on nothing any more.
    pub fn remove(&self, transaction: &Transaction<'_>) -> Result<(), ReadFailure> {
        indexing::index_waiting(transaction)?;
        let mut delete = transaction.prepare_cached("delete from reuse where key = ?1 and kind = ?2")?;
        let mut restore = transaction.prepare_cached(reuse::INSERT)?;
        for ((key, kind), candidate) in self.asked().filter(|(_, candidate)| candidate.goes()) {
            delete.execute(params![key.0, kind.code()])?;
            if let Some(Place { block, entry }) = candidate.successor() {
                restore.execute(params![key.0, kind.code(), block, entry as i64])?;
            }
        }
        let mut release = transaction.prepare_cached(RELEASE)?;
        for ordinal in self.found.iter() {
            release.execute(params![self.run, ordinal as i64])?;
        }
        Ok(())
    }

    pub fn withdrawal(&self) -> Withdrawal {
        let mut withdrawal = Withdrawal::default();
        for ((key, kind), candidate) in self.asked() {
            let others = candidate.needed_by().filter(|(run, _)| *run != self.run);
            let result = Reusable {
                key: *key,
                is_judgment: *kind == Kind::Judgments,
                cells: candidate.cells.iter().copied().collect(),
                used_by: others.map(|(_, name)| name.clone()).collect(),
            };
            let list = if candidate.goes() { &mut withdrawal.gone } else { &mut withdrawal.kept };
            list.push(result);
        }
        for list in [&mut withdrawal.gone, &mut withdrawal.kept] {
            list.sort_by(|one, other| {
                (&one.cells, one.is_judgment, one.key).cmp(&(&other.cells, other.is_judgment, other.key))
            });
        }
        withdrawal
    }
}

/// Calls `each` with block, run, key and place of everything that any block lists, oldest first.
pub(crate) fn each_list(
    connection: &Connection,
    mut each: impl FnMut(i64, i64, ReuseKey, Place),
) -> Result<(), ReadFailure> {
    let mut statement = connection.prepare_cached(LISTS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (block, run): (i64, i64) = (row.get(0)?, row.get(1)?);
        let list = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
        reuse::unpack_keys(block, list, |key, place| each(block, run, key, place))?;
    }
    Ok(())
}
