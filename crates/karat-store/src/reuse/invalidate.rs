//! Invalidation of cached results: those of one run, or of some of its cells.
//!
//! Only the index of reusable results changes. Rows are never removed: a run keeps its report, and a run that reused
//! a result keeps its copy. If an earlier run made the same result, that copy can be reused again.

use std::collections::{BTreeMap, BTreeSet};

use karat_types::{CellRecord, CellStatus, Key, Moment};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

use crate::block::section_cache::{ReuseKey, SectionKind};
use crate::database::transaction;
use crate::error::{Attempt, ReadFailure};
use crate::format::run_lookup::run_number;
use crate::format::unpack_step;
use crate::read::cursors::{CellColumns, JudgmentColumns};
use crate::reuse::known_keys;
use crate::reuse::shared_results::{Candidates, InvalidatedResults, User, for_each_list};
use crate::sql::tables::{self, RUNS, run_column as column};
use crate::sql::{Connection, OptionalExtension, Row, params};
use crate::{OrdinalSet, Store, StoreError};

const CELLS: &str = "from cells join runs on runs.id = cells.run where cast(?1 as bigint) is null or cells.run = ?1";
// A failed judgment is not a result.
const JUDGMENTS: &str = "from judgments join runs on runs.id = run
    where ok = 1 and (cast(?1 as bigint) is null or run = ?1)";
const INDEXED: &str = "select blocks.run, kind, count(*) from reuse join blocks on blocks.seq = reuse.block
    group by blocks.run, kind";
const INDEXED_BY: &str = "select blocks.run from reuse join blocks on blocks.seq = reuse.block
    where reuse.key = ?1 and reuse.kind = ?2";

/// The number of results of a run that other runs may reuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedResults {
    /// Id of the run.
    pub run: String,
    /// Start of the run.
    pub started_at: Moment,
    /// Number of step outputs.
    pub outputs: u64,
    /// Number of judgments.
    pub judgments: u64,
}

/// The extent of an invalidation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Withdraw {
    /// False if nothing changes.
    pub apply: bool,
    /// True if results are withdrawn that other runs use, too.
    pub force: bool,
}

impl Store {
    /// Invalidates the cached results that a run, or some of its cells, uses. Results that another run or cell uses
    /// stay, unless that cell was invalidated before, or `force` withdraws them from all later runs. With `apply: false`
    /// nothing changes.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; [`StoreError::RunInUse`] while the run is being written; rows that cannot be read.
    pub fn invalidate(
        &self,
        run: &str,
        cells: Option<&OrdinalSet>,
        Withdraw { apply, force }: Withdraw,
    ) -> Result<InvalidatedResults, StoreError> {
        if !apply {
            return self.read("reusable results", |connection| {
                let snapshot = connection.snapshot()?;
                Ok(self.candidates(&snapshot, run, cells, force)?.withdrawal())
            });
        }
        let _claim = self.claim(run)?;
        let attempt = Attempt { path: self.path(), doing: "invalidating cached results" };
        let connection = self.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        let withdrawal = (|| {
            let candidates = self.candidates(&transaction, run, cells, force)?;
            candidates.remove(&transaction)?;
            Ok(candidates.withdrawal())
        })()
        .map_err(|failure: ReadFailure| failure.of(self.path(), "reusable results"))?;
        transaction.commit().map_err(|error| attempt.error(error))?;
        self.0.known_keys.discard();
        Ok(withdrawal)
    }

    /// Returns the number of reusable results by the run that made them, newest run first. Runs without any are left
    /// out.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn cached_results(&self) -> Result<Vec<CachedResults>, StoreError> {
        self.read("reusable results", |connection| {
            let snapshot = connection.snapshot()?;
            let mut counts: BTreeMap<i64, [i64; 2]> = BTreeMap::new();
            let mut count = |run: i64, kind: SectionKind, more: i64| {
                counts.entry(run).or_default()[usize::from(kind == SectionKind::Judgments)] += more;
            };
            let mut statement = snapshot.prepare_cached(INDEXED)?;
            let mut rows = statement.query(params![])?;
            while let Some(row) = rows.next()? {
                count(row.get(0)?, SectionKind::of_code(row.get(1)?)?, row.get(2)?);
            }
            let (indexed, ..) = known_keys::index_state(&snapshot)?;
            // Of a result that several runs have made, the latest is reused.
            let mut waiting: FxHashMap<ReuseKey, i64> = FxHashMap::default();
            for_each_list(&snapshot, |block, run, key, _| {
                if block > indexed {
                    waiting.insert(key, run);
                }
            })?;
            let mut place = snapshot.prepare_cached(INDEXED_BY)?;
            for ((key, kind), run) in waiting {
                let earlier = place.query_row(params![key.0, kind.code()], |row| row.get(0)).optional()?;
                earlier.into_iter().for_each(|run| count(run, kind, -1));
                count(run, kind, 1);
            }
            let mut statement = snapshot.prepare_cached("select id, name, started_at from runs order by id desc")?;
            let mut rows = statement.query(params![])?;
            let mut cached = Vec::new();
            while let Some(row) = rows.next()? {
                let counts = counts.get(&row.get(0)?).filter(|counts| **counts != [0, 0]);
                if let Some([outputs, judgments]) = counts.map(|counts| counts.map(i64::unsigned_abs)) {
                    cached.push(CachedResults {
                        run: row.get(1)?,
                        started_at: Moment(row.get(2)?),
                        outputs,
                        judgments,
                    });
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
        force: bool,
    ) -> Result<Candidates, ReadFailure> {
        let mut candidates = Candidates::new(connection, run_number(connection, run)?, cells.cloned(), force)?;
        let rests_on = self.rests_on(connection, &candidates)?;
        candidates.read_lists(connection, &rests_on)?;
        self.add_cell_users(connection, &mut candidates)?;
        self.add_judgment_users(connection, &mut candidates)?;
        Ok(candidates)
    }

    /// Returns the keys of the last outputs and the judgments that the requested cells use.
    fn rests_on(&self, connection: &Connection, candidates: &Candidates) -> Result<FxHashSet<ReuseKey>, ReadFailure> {
        let mut keys = FxHashSet::default();
        for_each_cell(connection, Some(candidates.run), |user, cell| {
            if candidates.is_requested(&user) {
                keys.insert((cell.key, SectionKind::Outputs));
            }
        })?;
        self.for_each_judgment(connection, Some(candidates.run), |user, key| {
            if candidates.is_requested(&user) {
                keys.insert((key, SectionKind::Judgments));
            }
        })?;
        Ok(keys)
    }

    fn add_cell_users(&self, connection: &Connection, candidates: &mut Candidates) -> Result<(), ReadFailure> {
        let by_call = self.outputs_by_last_call(connection, candidates)?;
        for_each_cell(connection, None, |user, cell| {
            // A cell without an output keeps no result alive. A request for such a cell may mean the steps before the
            // one that failed.
            if cell.status != CellStatus::Ok && !candidates.is_requested(&user) {
                return;
            }
            let made_on_the_way = cell.calls.iter().filter_map(|call| by_call.get(call)).flatten().copied();
            let rests_on: BTreeSet<Key> = made_on_the_way.chain([cell.key]).collect();
            rests_on.into_iter().for_each(|key| candidates.add_user((key, SectionKind::Outputs), &user));
        })
    }

    /// Maps the last call of each output to the output's key: a cell with this call uses the output.
    fn outputs_by_last_call(
        &self,
        connection: &Connection,
        candidates: &Candidates,
    ) -> Result<FxHashMap<Key, Vec<Key>>, ReadFailure> {
        let mut by_call: FxHashMap<Key, Vec<Key>> = FxHashMap::default();
        for (key, place) in candidates.outputs() {
            let section = self.0.cache.section(connection, place.block, SectionKind::Outputs)?;
            let step = unpack_step(key, section.section.entry(place.entry)?, |_| Ok(Value::Null))?;
            if let Some(last) = step.calls.last() {
                by_call.entry(*last).or_default().push(key);
            }
        }
        Ok(by_call)
    }

    fn add_judgment_users(&self, connection: &Connection, candidates: &mut Candidates) -> Result<(), ReadFailure> {
        self.for_each_judgment(connection, None, |user, key| candidates.add_user((key, SectionKind::Judgments), &user))
    }

    /// Calls `each` with every sound judgment of a run, or of all runs.
    fn for_each_judgment(
        &self,
        connection: &Connection,
        run: Option<i64>,
        mut each: impl FnMut(User, Key),
    ) -> Result<(), ReadFailure> {
        let snapshot = connection.snapshot_if_none()?;
        let end = format!(", {} {JUDGMENTS}", RUNS.select(connection, &[]));
        let mut statement = snapshot.prepare_long(&JudgmentColumns::query(&snapshot, &end))?;
        let mut rows = statement.query(params![run])?;
        while let Some(row) = rows.next()? {
            let judgment = JudgmentColumns::read(&row)?;
            let user = user_of(&row, tables::JUDGMENTS.columns.len() + 1, judgment.ordinal)?;
            let section = self.0.cache.section(connection, judgment.block, SectionKind::Judgments)?;
            each(user, judgment.unpack(&section)?.key);
        }
        Ok(())
    }
}

/// Calls `each` with every cell of a run, or of all runs.
fn for_each_cell(
    connection: &Connection,
    run: Option<i64>,
    mut each: impl FnMut(User, CellRecord),
) -> Result<(), ReadFailure> {
    let snapshot = connection.snapshot_if_none()?;
    let end = format!(", {} {CELLS}", RUNS.select(connection, &[]));
    let mut statement = snapshot.prepare_long(&CellColumns::query(&snapshot, &end))?;
    let mut rows = statement.query(params![run])?;
    while let Some(row) = rows.next()? {
        let cell = CellColumns::read(&row)?;
        each(user_of(&row, tables::CELLS.columns.len() + 1, cell.ordinal)?, cell.unpack()?);
    }
    Ok(())
}

/// The cell of a run whose columns begin at `first`.
fn user_of(row: &Row<'_>, first: usize, ordinal: u64) -> Result<User, ReadFailure> {
    RUNS.check_from(first, row, &[])?;
    Ok(User { run: row.get(first + column::ID)?, name: row.get(first + column::NAME)?, ordinal })
}
