//! Results that several runs share: decides which an invalidation may remove, and who needs the rest.
//!
//! ```text
//! a run needs a result         one of its cells uses it, has its output, is not requested, and was not invalidated
//!                              before
//! an invalidated cell          uses only copies that its own run has made
//! a result stays               while a run that needs it has made the present copy, or has made no copy of its own
//! a result is removed          otherwise; the newest copy made by a run that needs it takes its place
//! by force                     the copy that is reused is removed whoever needs it, and nothing takes its place
//!                              also for cells that were invalidated before: that may have left it to others
//! ```

use std::collections::{BTreeMap, BTreeSet};

use karat_types::Key;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::OrdinalSet;
use crate::block::section_cache::{EntryPlace, ReuseKey, SectionKind};
use crate::error::ReadFailure;
use crate::reuse::{index_writer, known_keys};
use crate::sql::{Connection, Transaction, params, tables};

const LISTS: &str = "from blocks order by seq";

/// A result that a run uses and other runs may reuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReusableResult {
    /// Its content key.
    pub key: Key,
    /// `true` for a judgment, `false` for a step's output.
    pub is_judgment: bool,
    /// Ordinals of the run's cells that use it.
    pub cells: Vec<u64>,
    /// Other runs that use it: if it is removed, by force.
    pub used_by: BTreeSet<String>,
}

/// The results that an invalidation removes, and those it leaves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InvalidatedResults {
    /// Removed results.
    pub gone: Vec<ReusableResult>,
    /// Requested results that stay, because other cells or runs use them that were not invalidated.
    pub kept: Vec<ReusableResult>,
}

/// A cell that uses results.
pub(crate) struct User {
    pub run: i64,
    pub name: String,
    pub ordinal: u64,
}

/// A result whose users are being collected.
#[derive(Default)]
struct Candidate {
    /// The run and place of each copy, oldest first. The last one is reused.
    copies: Vec<(i64, EntryPlace)>,
    /// The runs that need it, with their names.
    live: BTreeMap<i64, String>,
    /// The requested cells that use it.
    cells: BTreeSet<u64>,
    /// The cells of other runs that need it, by run.
    others: BTreeSet<(i64, u64)>,
}

impl Candidate {
    fn maker(&self) -> Option<i64> {
        self.copies.last().map(|(run, _)| *run)
    }

    fn remaining_users(&self) -> impl Iterator<Item = (i64, &String)> {
        let has_own = |run| self.maker() != Some(run) && self.copies.iter().any(|(maker, _)| *maker == run);
        self.live.iter().map(|(run, name)| (*run, name)).filter(move |(run, _)| !has_own(*run))
    }

    fn can_be_removed(&self) -> bool {
        self.remaining_users().next().is_none()
    }

    /// Returns the copy that takes its place.
    fn successor(&self) -> Option<EntryPlace> {
        self.copies.iter().rev().find(|(run, _)| self.live.contains_key(run)).map(|(_, place)| *place)
    }

    /// Drops the copies after the one that is reused, or all if none is.
    fn keep_present(&mut self, connection: &Connection, key: ReuseKey, indexed: i64) -> Result<(), ReadFailure> {
        if self.copies.last().is_some_and(|(_, place)| place.block > indexed) {
            return Ok(());
        }
        let present = known_keys::find_indexed(connection, key)?.map(|place| place.block);
        self.copies.retain(|(_, place)| present.is_some_and(|present| place.block <= present));
        Ok(())
    }
}

/// The results that cells of a run use and that other runs may reuse.
pub(crate) struct Candidates {
    pub run: i64,
    /// The requested cells; `None` requests the whole run.
    wanted: Option<OrdinalSet>,
    /// True if results are removed that others need.
    by_force: bool,
    /// Requested cells that were found.
    found: OrdinalSet,
    /// Cells of each run that were invalidated before.
    released: FxHashMap<i64, OrdinalSet>,
    all: FxHashMap<ReuseKey, Candidate>,
}

impl Candidates {
    pub fn new(
        connection: &Connection,
        run: i64,
        wanted: Option<OrdinalSet>,
        by_force: bool,
    ) -> Result<Self, ReadFailure> {
        let mut released: FxHashMap<i64, OrdinalSet> = FxHashMap::default();
        let select = format!("select {} from released", tables::RELEASED.select(connection, &[]));
        let mut statement = connection.prepare_cached(&select)?;
        let mut rows = statement.query(params![])?;
        while let Some(row) = rows.next()? {
            tables::RELEASED.check(&row, &[])?;
            released.entry(row.get(0)?).or_default().insert(row.get::<i64>(1)?.unsigned_abs());
        }
        Ok(Self { run, wanted, by_force, found: OrdinalSet::default(), released, all: FxHashMap::default() })
    }

    /// Returns `true` if the cell is requested.
    pub fn is_requested(&self, user: &User) -> bool {
        user.run == self.run && self.wanted.as_ref().is_none_or(|wanted| wanted.contains(user.ordinal))
    }

    /// Reads the key lists of all blocks. Adds the places of the results in `rests_on`, and the results made by the
    /// run or by a run with invalidated cells.
    pub fn read_lists(&mut self, connection: &Connection, rests_on: &FxHashSet<ReuseKey>) -> Result<(), ReadFailure> {
        let (own, released, all) = (self.run, &self.released, &mut self.all);
        for_each_list(connection, |_, run, key, _| {
            if run == own || released.contains_key(&run) || rests_on.contains(&key) {
                all.entry(key).or_default();
            }
        })?;
        for_each_list(connection, |_, run, key, place| {
            if let Some(candidate) = all.get_mut(&key) {
                candidate.copies.push((run, place));
            }
        })?;
        let (indexed, ..) = known_keys::index_state(connection)?;
        for (key, candidate) in all.iter_mut() {
            candidate.keep_present(connection, *key, indexed)?;
        }
        all.retain(|_, candidate| !candidate.copies.is_empty());
        Ok(())
    }

    /// Returns every copy of every output.
    pub fn outputs(&self) -> impl Iterator<Item = (Key, EntryPlace)> {
        let outputs = self.all.iter().filter(|((_, kind), _)| *kind == SectionKind::Outputs);
        outputs.flat_map(|((key, _), candidate)| candidate.copies.iter().map(|(_, place)| (*key, *place)))
    }

    /// Notes that a cell uses a result.
    pub fn add_user(&mut self, key: ReuseKey, user: &User) {
        let is_requested = self.is_requested(user);
        if is_requested {
            self.found.insert(user.ordinal);
        }
        let Some(candidate) = self.all.get_mut(&key) else { return };
        let is_released = self.released.get(&user.run).is_some_and(|released| released.contains(user.ordinal));
        if is_requested && (self.by_force || !is_released || candidate.maker() == Some(self.run)) {
            candidate.cells.insert(user.ordinal);
        } else if !is_requested && !is_released {
            candidate.live.entry(user.run).or_insert_with(|| user.name.clone());
            candidate.others.insert((user.run, user.ordinal));
        }
    }

    fn requested_results(&self) -> impl Iterator<Item = (&ReuseKey, &Candidate)> {
        let is_own = |candidate: &Candidate| self.wanted.is_none() && candidate.maker() == Some(self.run);
        self.all.iter().filter(move |(_, candidate)| is_own(candidate) || !candidate.cells.is_empty())
    }

    fn removes(&self, candidate: &Candidate) -> bool {
        self.by_force || candidate.can_be_removed()
    }

    /// Removes results from the index, and marks the requested cells as invalidated.
    pub fn remove(&self, transaction: &Transaction<'_>) -> Result<(), ReadFailure> {
        index_writer::index_all(transaction)?;
        let mut delete = transaction.prepare_cached("delete from reuse where key = ?1 and kind = ?2")?;
        let mut restore = tables::REUSE.inserting(transaction, known_keys::REPLACE)?;
        for ((key, kind), candidate) in self.requested_results().filter(|(_, candidate)| self.removes(candidate)) {
            delete.execute(params![key.0, kind.code()])?;
            if let Some(EntryPlace { block, entry }) = candidate.successor().filter(|_| !self.by_force) {
                restore.execute(params![key.0, kind.code(), block, entry as i64])?;
            }
        }
        let mut release = tables::RELEASED.inserting(transaction, "on conflict do nothing")?;
        for ordinal in self.found.iter() {
            release.execute(params![self.run, ordinal as i64])?;
        }
        // The cells of others need the removed results no more, and neither do the replies to their calls.
        let removed = self.requested_results().filter(|_| self.by_force);
        for (run, ordinal) in removed.flat_map(|(_, candidate)| &candidate.others) {
            release.execute(params![*run, *ordinal as i64])?;
        }
        Ok(())
    }

    pub fn withdrawal(&self) -> InvalidatedResults {
        let mut withdrawal = InvalidatedResults::default();
        for ((key, kind), candidate) in self.requested_results() {
            let others = candidate.remaining_users().filter(|(run, _)| *run != self.run);
            let result = ReusableResult {
                key: *key,
                is_judgment: *kind == SectionKind::Judgments,
                cells: candidate.cells.iter().copied().collect(),
                used_by: others.map(|(_, name)| name.clone()).collect(),
            };
            let list = if self.removes(candidate) { &mut withdrawal.gone } else { &mut withdrawal.kept };
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

/// Calls `each` with block, run, key and place of every listed result, oldest first.
pub(crate) fn for_each_list(
    connection: &Connection,
    mut each: impl FnMut(i64, i64, ReuseKey, EntryPlace),
) -> Result<(), ReadFailure> {
    let snapshot = connection.snapshot_if_none()?;
    let mut statement = snapshot.prepare_long(&known_keys::list_query(&snapshot, LISTS))?;
    let mut rows = statement.query(params![])?;
    while let Some(row) = rows.next()? {
        let (block, run, list) = known_keys::read_list(&row)?;
        known_keys::unpack_keys(block, list, |key, place| each(block, run, key, place))?;
    }
    Ok(())
}
