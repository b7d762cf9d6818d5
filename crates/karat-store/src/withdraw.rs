//! Taking results out of reuse: those of one run or of some of its cells.
//!
//! Only the index of reusable results changes. Rows are never removed: a run keeps its report, and a run that took a
//! result over keeps its copy of it. Where an earlier run made the same result, that one can be taken over again.

use std::collections::{BTreeMap, BTreeSet};

use karat_types::{Key, Moment};
use rusqlite::{Connection, Transaction, params};
use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::cache::Kind;
use crate::error::{Attempt, ReadFailure};
use crate::format::{StoredCell, unpack_cell, unpack_judgment, unpack_step};
use crate::known::run_number;
use crate::reuse::{self, Place, ReuseKey};
use crate::{OrdinalSet, Store, StoreError, writer};

const LISTS: &str = "select seq, run, reuse from blocks order by seq";
const CELLS: &str =
    "select runs.id, runs.name, ordinal, cells.status, facts from cells join runs on runs.id = cells.run";
const JUDGMENTS: &str = "select runs.id, runs.name, ordinal, block, entry from judgments join runs on runs.id = run";
const INDEXED: &str = "select blocks.run, kind, count(*) from reuse join blocks on blocks.seq = reuse.block
    group by blocks.run, kind";

/// A result of a run that other runs may take over.
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
    /// What was asked for and stays, because other cells or runs rest on it.
    pub kept: Vec<Reusable>,
}

/// How much of a run other runs may take over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cached {
    /// Id of the run.
    pub run: String,
    /// When it began.
    pub started_at: Moment,
    /// Outputs of steps.
    pub outputs: u64,
    /// Judgments.
    pub judgments: u64,
}

/// An own result while it is found out who rests on it.
struct Candidate {
    place: Place,
    /// Where an earlier run has made the same.
    earlier: Option<Place>,
    /// Runs that have made the same themselves: they rest on their own.
    makers: BTreeSet<i64>,
    /// A later run has made the same: it is no longer this run's.
    is_superseded: bool,
    /// A cell that stays rests on it.
    is_kept: bool,
    result: Reusable,
}

impl Store {
    /// Takes the results of a run, or of some of its cells, out of reuse: those that no other run and no other cell
    /// rests on. With `apply: false` it only says which.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; [`StoreError::RunInUse`] while the run is being written; rows that cannot be read.
    pub fn withdraw(&self, run: &str, cells: Option<&OrdinalSet>, apply: bool) -> Result<Withdrawal, StoreError> {
        if !apply {
            return self.read("reusable results", |connection| {
                let snapshot = connection.unchecked_transaction()?;
                Ok(self.candidates(&snapshot, run, cells)?.withdrawal())
            });
        }
        let _claim = self.claim(run)?;
        let attempt = Attempt { path: self.path(), doing: "taking results out of reuse" };
        let connection = self.writing();
        let transaction = writer::begin(&connection, attempt)?;
        let withdrawal = (|| {
            let candidates = self.candidates(&transaction, run, cells)?;
            candidates.remove(&transaction)?;
            Ok(candidates.withdrawal())
        })()
        .map_err(|failure: ReadFailure| failure.of(self.path(), "reusable results"))?;
        transaction.commit().map_err(|error| attempt.failed(error))?;
        self.0.known_keys.changed();
        Ok(withdrawal)
    }

    /// What later runs may take over, by the run that made it, newest first. Runs without any are left out.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn cached(&self) -> Result<Vec<Cached>, StoreError> {
        self.read("reusable results", |connection| {
            let snapshot = connection.unchecked_transaction()?;
            let mut counts: BTreeMap<i64, [u64; 2]> = BTreeMap::new();
            let mut count = |run: i64, kind: Kind, more: u64| {
                counts.entry(run).or_default()[usize::from(kind == Kind::Judgments)] += more;
            };
            let mut statement = snapshot.prepare_cached(INDEXED)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                count(row.get(0)?, Kind::of_code(row.get(1)?)?, row.get::<_, i64>(2)?.unsigned_abs());
            }
            let indexed: i64 = snapshot.query_row(reuse::STATE, [], |row| row.get(0))?;
            each_list(&snapshot, |block, run, (_, kind), _| {
                if block > indexed {
                    count(run, kind, 1);
                }
            })?;
            let mut statement = snapshot.prepare_cached("select id, name, started_at from runs order by id desc")?;
            let mut rows = statement.query([])?;
            let mut cached = Vec::new();
            while let Some(row) = rows.next()? {
                if let Some([outputs, judgments]) = counts.get(&row.get(0)?).copied() {
                    cached.push(Cached { run: row.get(1)?, started_at: Moment(row.get(2)?), outputs, judgments });
                }
            }
            Ok(cached)
        })
    }

    fn candidates(
        &self,
        connection: &Connection,
        run: &str,
        cells: Option<&OrdinalSet>,
    ) -> Result<Candidates, ReadFailure> {
        let run = run_number(connection, run)?;
        let mut candidates = Candidates { run, whole: cells.is_none(), all: FxHashMap::default() };
        candidates.list(connection)?;
        let is_wanted = |ordinal| cells.is_none_or(|cells| cells.contains(ordinal));
        self.note_cells(connection, &mut candidates, &is_wanted)?;
        self.note_judgments(connection, &mut candidates, &is_wanted)?;
        Ok(candidates)
    }

    fn note_cells(
        &self,
        connection: &Connection,
        candidates: &mut Candidates,
        is_wanted: &dyn Fn(u64) -> bool,
    ) -> Result<(), ReadFailure> {
        let by_call = self.last_calls(connection, candidates)?;
        let mut statement = connection.prepare_cached(CELLS)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let ordinal = row.get::<_, i64>(2)?.unsigned_abs();
            let facts = row.get_ref(4)?.as_blob().map_err(rusqlite::Error::from)?;
            let cell = unpack_cell(StoredCell { ordinal, status: row.get(3)?, facts })?;
            let made_on_the_way = cell.calls.iter().filter_map(|call| by_call.get(call)).flatten().copied();
            let rests_on: BTreeSet<Key> = made_on_the_way.chain([cell.key]).collect();
            let user = User { run: row.get(0)?, name: row.get(1)?, ordinal };
            rests_on.into_iter().for_each(|key| candidates.used((key, Kind::Outputs), &user, is_wanted));
        }
        Ok(())
    }

    /// The own outputs by the last call that made them: what a cell with this call rests on.
    fn last_calls(
        &self,
        connection: &Connection,
        candidates: &Candidates,
    ) -> Result<FxHashMap<Key, Vec<Key>>, ReadFailure> {
        let mut by_call: FxHashMap<Key, Vec<Key>> = FxHashMap::default();
        for ((key, kind), candidate) in &candidates.all {
            if *kind == Kind::Outputs {
                let section = self.0.cache.section(connection, candidate.place.block, Kind::Outputs)?;
                let step = unpack_step(*key, section.section.entry(candidate.place.entry)?, |_| Ok(Value::Null))?;
                if let Some(last) = step.calls.last() {
                    by_call.entry(*last).or_default().push(*key);
                }
            }
        }
        Ok(by_call)
    }

    fn note_judgments(
        &self,
        connection: &Connection,
        candidates: &mut Candidates,
        is_wanted: &dyn Fn(u64) -> bool,
    ) -> Result<(), ReadFailure> {
        let mut statement = connection.prepare_cached(JUDGMENTS)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let section = self.0.cache.section(connection, row.get(3)?, Kind::Judgments)?;
            let judgment = unpack_judgment(section.section.entry(row.get::<_, i64>(4)?.unsigned_abs())?)?;
            let user = User { run: row.get(0)?, name: row.get(1)?, ordinal: row.get::<_, i64>(2)?.unsigned_abs() };
            candidates.used((judgment.key, Kind::Judgments), &user, is_wanted);
        }
        Ok(())
    }
}

/// A cell that rests on results.
struct User {
    run: i64,
    name: String,
    ordinal: u64,
}

/// What a run made that other runs may take over.
struct Candidates {
    run: i64,
    /// Whether everything of the run is asked for.
    whole: bool,
    all: FxHashMap<ReuseKey, Candidate>,
}

impl Candidates {
    /// Reads the lists of all blocks: what is the run's own, and who else has made the same.
    fn list(&mut self, connection: &Connection) -> Result<(), ReadFailure> {
        let (own, all) = (self.run, &mut self.all);
        each_list(connection, |_, run, (key, kind), place| {
            if run == own {
                all.insert((key, kind), Candidate::new(key, kind, place));
            }
        })?;
        each_list(connection, |_, run, key, place| match all.get_mut(&key) {
            Some(own_one) if run != own => {
                own_one.makers.insert(run);
                own_one.is_superseded |= place.block > own_one.place.block;
                own_one.earlier = Some(place).filter(|it| it.block < own_one.place.block).or(own_one.earlier);
            }
            _ => {}
        })?;
        all.retain(|_, candidate| !candidate.is_superseded);
        Ok(())
    }

    fn used(&mut self, key: ReuseKey, user: &User, is_wanted: &dyn Fn(u64) -> bool) {
        let Some(candidate) = self.all.get_mut(&key) else { return };
        if candidate.makers.contains(&user.run) {
            return;
        }
        if user.run != self.run {
            candidate.result.used_by.insert(user.name.clone());
        } else {
            candidate.is_kept |= !is_wanted(user.ordinal);
            if is_wanted(user.ordinal) && !candidate.result.cells.contains(&user.ordinal) {
                candidate.result.cells.push(user.ordinal);
            }
        }
    }

    fn asked(&self) -> impl Iterator<Item = (&ReuseKey, &Candidate)> {
        self.all.iter().filter(|(_, candidate)| self.whole || !candidate.result.cells.is_empty())
    }

    fn remove(&self, transaction: &Transaction<'_>) -> Result<(), ReadFailure> {
        reuse::index_waiting(transaction)?;
        let mut delete = transaction.prepare_cached("delete from reuse where key = ?1 and kind = ?2")?;
        let mut restore =
            transaction.prepare_cached("insert into reuse (key, kind, block, entry) values (?1, ?2, ?3, ?4)")?;
        for ((key, kind), candidate) in self.asked().filter(|(_, candidate)| candidate.goes()) {
            delete.execute(params![key.0, kind.code()])?;
            if let Some(Place { block, entry }) = candidate.earlier {
                restore.execute(params![key.0, kind.code(), block, entry as i64])?;
            }
        }
        Ok(())
    }

    fn withdrawal(&self) -> Withdrawal {
        let mut withdrawal = Withdrawal::default();
        for (_, candidate) in self.asked() {
            let list = if candidate.goes() { &mut withdrawal.gone } else { &mut withdrawal.kept };
            list.push(candidate.result.clone());
        }
        for list in [&mut withdrawal.gone, &mut withdrawal.kept] {
            list.iter_mut().for_each(|result| result.cells.sort_unstable());
            list.sort_by(|one, other| {
                (&one.cells, one.is_judgment, one.key).cmp(&(&other.cells, other.is_judgment, other.key))
            });
        }
        withdrawal
    }
}

impl Candidate {
    fn new(key: Key, kind: Kind, place: Place) -> Self {
        let is_judgment = kind == Kind::Judgments;
        let result = Reusable { key, is_judgment, cells: Vec::new(), used_by: BTreeSet::new() };
        Self { place, earlier: None, makers: BTreeSet::new(), is_superseded: false, is_kept: false, result }
    }

    fn goes(&self) -> bool {
        !self.is_kept && self.result.used_by.is_empty()
    }
}

/// Calls `each` with block, run, key and place of everything that any block lists, oldest first.
fn each_list(connection: &Connection, mut each: impl FnMut(i64, i64, ReuseKey, Place)) -> Result<(), ReadFailure> {
    let mut statement = connection.prepare_cached(LISTS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (block, run): (i64, i64) = (row.get(0)?, row.get(1)?);
        let list = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
        reuse::unpack_keys(block, list, |key, place| each(block, run, key, place))?;
    }
    Ok(())
}
