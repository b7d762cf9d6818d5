//! Copies one shard. Memory holds one row and the keys of reusable results that are not indexed yet.

use std::borrow::Cow;

use karat_types::RunStatus;

use super::copies::{Copies, compare};
use super::{MergedRun, Ranges, ShardSource, ranges};
use crate::StoreError;
use crate::block::section_cache::{EntryPlace, ReuseKey};
use crate::error::{Attempt, Damage, ReadFailure};
use crate::format::run_lookup::{named_run, run_number};
use crate::format::run_status_code;
use crate::read::account::check_commits;
use crate::read::check::missing_rows;
use crate::read::cursors::{CellColumns, JudgmentColumns};
use crate::reuse::{index_writer, known_keys};
use crate::sql::tables::{BLOBS, BLOCKS, CELLS, JUDGMENTS, RELEASED, SAMPLES, SHARDS, VECTORS, run_column as column};
use crate::sql::{Connection, SqlError, SqlResult, Table, ToValue, Transaction, params};
use crate::write::merge::copies::cell_name;

const OF_BLOCKS: &str = "from blocks where run = ?1 and seq > ?2 order by seq";
// In the order of the table, so that later rows stay later: the index by place would have to be sorted.
const OF_CELLS: &str = "from cells not indexed where run = ?1 and block > ?2 order by seq";
const OF_JUDGMENTS: &str = "from judgments not indexed where run = ?1 and block > ?2 order by seq";
const CELL_BLOCKS: &str = "select block from cells where run = ?1 and ordinal = ?2";

/// Number of keys that wait for the index at which a merge inserts them: later processes would all have to read them.
const MANY_KEYS: i64 = 65_536;

/// Tables that belong to no run, by their keys: vectors of texts, and images that were sent.
static SHARED: [&Table; 2] = [&VECTORS, &BLOBS];

/// Copies what a source holds of its shard and the run has not yet. Returns the number of blocks.
pub(super) fn copy(
    source: &Connection,
    target: &Transaction<'_>,
    part: &ShardSource,
    run: &MergedRun<'_>,
    attempt: Attempt<'_>,
) -> Result<u64, ReadFailure> {
    let from = run_number(source, &part.run)?;
    check_whole(source, part)?;
    let known = ranges(target, run.id, part.shard).map_err(|error| attempt.error(error))?;
    let after = match compare(source, target, (from, run.id), &known)? {
        Copies::Same => return Ok(0),
        Copies::Continues { after } => after,
        Copies::Differ { ordinal } => return Err(difference_error(source, target, part, run, (from, ordinal))?.into()),
    };
    let copier = Copier { source, target, part, run, known, from, after, attempt };
    let blocks = copier.copy_blocks()?;
    // A shard without samples has no block; that it was merged is known all the same.
    let (first, last) = blocks.unwrap_or((0, 0));
    SHARDS
        .insert(target, "on conflict do nothing", params![run.id, part.shard.number(), first, last])
        .map_err(|error| attempt.error(error))?;
    let Some((first, last)) = blocks else { return Ok(0) };
    copier.copy_rows(first)?;
    copier.copy_shared()?;
    Ok((last - first).unsigned_abs() + 1)
}

/// Checks that a finished shard has the rows that it ended with.
fn check_whole(source: &Connection, part: &ShardSource) -> Result<(), ReadFailure> {
    let status = named_run(source, &part.run, &[], |row| Ok(row.get::<i64>(column::STATUS)?))?;
    if status != Some(run_status_code(RunStatus::Finished)) {
        return Ok(());
    }
    match missing_rows(source, &part.run)?.2.into_iter().next() {
        None => Ok(()),
        Some(missing) => Err(damage_error(part, "rows of it are missing", &missing).into()),
    }
}

fn damage_error(part: &ShardSource, what: &str, why: &str) -> StoreError {
    let (path, run) = (part.store.path().display(), &part.run);
    StoreError::Damaged {
        what: format!("shard {} of run {run} in {path}", part.shard),
        why: format!("{what}: {why}; `karat resume {run} --store sqlite:{path}` makes it again"),
    }
}

/// The error for two copies of a shard that differ in a cell.
fn difference_error(
    source: &Connection,
    target: &Transaction<'_>,
    part: &ShardSource,
    run: &MergedRun<'_>,
    (from, ordinal): (i64, u64),
) -> Result<StoreError, ReadFailure> {
    let sample = match super::copies::sample_of(source, from, run.header, ordinal)? {
        Some(sample) => Some(sample),
        None => super::copies::sample_of(target, run.id, run.header, ordinal)?,
    };
    Ok(StoreError::ShardsDiffer {
        path: part.store.path().to_owned(),
        run: run.header.id.clone(),
        shard: part.shard,
        cell: cell_name(run.header, sample.as_ref(), ordinal),
    })
}

struct Copier<'c, 't> {
    source: &'c Connection,
    target: &'c Transaction<'t>,
    part: &'c ShardSource,
    run: &'c MergedRun<'c>,
    /// Blocks that were copied before.
    known: Ranges,
    /// Number of the run in the source.
    from: i64,
    /// The last block of the source that was copied before.
    after: i64,
    attempt: Attempt<'c>,
}

impl Copier<'_, '_> {
    fn target_error(&self, error: SqlError) -> ReadFailure {
        self.attempt.error(error).into()
    }

    /// Copies the blocks; the distances between their numbers stay. Returns the first and the last number that they got.
    fn copy_blocks(&self) -> Result<Option<(i64, i64)>, ReadFailure> {
        let newest = "select coalesce(max(seq), 0) from blocks";
        let newest: i64 =
            self.target.query_row(newest, params![], |row| row.get(0)).map_err(|error| self.target_error(error))?;
        let (indexed, ..) = known_keys::index_state(self.source)?;
        let mut insert = BLOCKS.inserting(self.target, "").map_err(|error| self.target_error(error))?;
        check_commits(self.source, self.from)?;
        let select = format!("select {} {OF_BLOCKS}", BLOCKS.select(self.source, BLOCKS.long));
        let mut statement = self.source.prepare_cached(&select)?;
        let mut rows = statement.query(params![self.from, self.after])?;
        let (mut placed, mut keys) = (None::<(i64, i64, i64)>, 0_i64);
        while let Some(row) = rows.next()? {
            BLOCKS.check(&row, BLOCKS.long)?;
            let seq: i64 = row.get(0)?;
            let (first, offset) = placed.map_or((newest + 1, newest + 1 - seq), |(first, _, offset)| (first, offset));
            let reuse = row.blob(3)?;
            let (reuse, count) = self.reusable_keys(seq, reuse, seq <= indexed)?;
            keys += count;
            insert
                .execute(params![
                    seq + offset,
                    self.run.id,
                    row.value(2)?,
                    &*reuse,
                    row.value(4)?,
                    row.value(5)?,
                    row.value(6)?
                ])
                .map_err(|error| self.target_error(error))?;
            placed = Some((first, seq + offset, offset));
        }
        self.count_keys(keys)?;
        Ok(placed.map(|(first, last, _)| (first, last)))
    }

    /// The keys of a block that results may still be reused by, with their number. The list itself keeps a key that was
    /// invalidated; the index, once the block is in it, does not.
    fn reusable_keys<'l>(
        &self,
        block: i64,
        list: &'l [u8],
        is_indexed: bool,
    ) -> Result<(Cow<'l, [u8]>, i64), ReadFailure> {
        let mut keys: Vec<(ReuseKey, EntryPlace)> = Vec::new();
        known_keys::unpack_keys(block, list, |key, place| keys.push((key, place)))?;
        let all = keys.len();
        if is_indexed {
            let mut kept = Vec::with_capacity(keys.len());
            for (key, place) in keys {
                if known_keys::find_indexed(self.source, key)?.is_some() {
                    kept.push((key, place));
                }
            }
            keys = kept;
        }
        let list = if keys.len() == all { Cow::Borrowed(list) } else { Cow::Owned(known_keys::pack_list(&keys)) };
        Ok((list, keys.len() as i64))
    }

    /// Counts keys that wait for the index, and inserts them if they are many.
    fn count_keys(&self, keys: i64) -> Result<(), ReadFailure> {
        let (waiting, _) = index_writer::count_waiting(self.target, keys)
            .map_err(|failure| failure.of(self.attempt.path, "keys of results"))?;
        if waiting >= MANY_KEYS {
            index_writer::index_all(self.target).map_err(|failure| failure.of(self.attempt.path, "keys of results"))?;
        }
        Ok(())
    }

    /// Copies the rows of the copied blocks, the first of which got this number.
    fn copy_rows(&self, first: i64) -> Result<(), ReadFailure> {
        let oldest = "select min(seq) from blocks where run = ?1 and seq > ?2";
        let oldest: i64 = self.source.query_row(oldest, params![self.from, self.after], |row| row.get(0))?;
        let offset = first - oldest;
        self.copy_cells(offset)?;
        self.copy_judgments(offset)?;
        self.copy_samples()?;
        self.copy_released()
    }

    fn copy_cells(&self, offset: i64) -> Result<(), ReadFailure> {
        let failed = |error: SqlError| self.target_error(error);
        let mut seq = CELLS.next_number(self.target).map_err(failed)?;
        let mut insert = CELLS.inserting(self.target, "").map_err(failed)?;
        let mut statement = self.source.prepare_cached(&CellColumns::query(self.source, OF_CELLS))?;
        let mut rows = statement.query(params![self.from, self.after])?;
        while let Some(row) = rows.next()? {
            let ordinal: i64 = row.get(2)?;
            let unread = |why: &str| ReadFailure::from(damage_error(self.part, &format!("cell {ordinal}"), why));
            let cell = CellColumns::read(&row).map_err(|failure| match failure {
                ReadFailure::Sql(SqlError::Damaged { why, .. }) => unread(&why),
                failure => failure,
            })?;
            cell.unpack().map_err(|Damage(why)| unread(&why))?;
            self.check_free(cell.ordinal)?;
            let block = cell.block + offset;
            let values = params![seq, self.run.id, ordinal, cell.status, block, row.value(5)?, row.value(6)?];
            insert.execute(values).map_err(failed)?;
            seq += 1;
        }
        Ok(())
    }

    /// Checks that nothing else has made a cell: the merged run may have been resumed since.
    fn check_free(&self, ordinal: u64) -> Result<(), ReadFailure> {
        if !self.run.is_known {
            return Ok(());
        }
        let is_own = |block: i64| self.known.iter().any(|(first, last)| (*first..=*last).contains(&block));
        let mut blocks = self.target.prepare_cached(CELL_BLOCKS).map_err(|error| self.target_error(error))?;
        let foreign = blocks
            .query_map(params![self.run.id, ordinal as i64], |row| row.get::<i64>(0))
            .and_then(|mut blocks| blocks.find(|block| !block.as_ref().is_ok_and(|block| is_own(*block))).transpose())
            .map_err(|error| self.target_error(error))?;
        match foreign {
            None => Ok(()),
            Some(_) => {
                Err(difference_error(self.source, self.target, self.part, self.run, (self.from, ordinal))?.into())
            }
        }
    }

    fn copy_judgments(&self, offset: i64) -> Result<(), ReadFailure> {
        let failed = |error: SqlError| self.target_error(error);
        let mut seq = JUDGMENTS.next_number(self.target).map_err(failed)?;
        let mut insert = JUDGMENTS.inserting(self.target, "").map_err(failed)?;
        let mut statement = self.source.prepare_cached(&JudgmentColumns::query(self.source, OF_JUDGMENTS))?;
        let mut rows = statement.query(params![self.from, self.after])?;
        while let Some(row) = rows.next()? {
            let block = JudgmentColumns::read(&row)?.block + offset;
            let place = (row.value(2)?, row.value(3)?, row.value(4)?, row.value(5)?);
            let values = params![seq, self.run.id, place.0, place.1, place.2, place.3, block, row.value(7)?];
            insert.execute(values).map_err(failed)?;
            seq += 1;
        }
        Ok(())
    }

    fn copy_samples(&self) -> Result<(), ReadFailure> {
        let replace = "on conflict (run, row) do update set facts = excluded.facts, sum = excluded.sum";
        self.copy_of_run(&SAMPLES, replace)
    }

    /// Copies which cells' results were invalidated.
    fn copy_released(&self) -> Result<(), ReadFailure> {
        self.copy_of_run(&RELEASED, "on conflict do nothing")
    }

    /// Copies the rows of a table that begin with the number of the run.
    fn copy_of_run(&self, table: &'static Table, conflict: &str) -> Result<(), ReadFailure> {
        let mut insert = table.inserting(self.target, conflict).map_err(|error| self.target_error(error))?;
        let select = format!("select {} from {} where run = ?1", table.select(self.source, &[]), table.name);
        let mut statement = self.source.prepare_cached(&select)?;
        let mut rows = statement.query(params![self.from])?;
        while let Some(row) = rows.next()? {
            table.check(&row, &[])?;
            let rest = (1..table.columns.len()).map(|column| row.value(column)).collect::<SqlResult<Vec<_>>>()?;
            let values: Vec<&dyn ToValue> =
                [&self.run.id as &dyn ToValue].into_iter().chain(rest.iter().map(|it| it as &dyn ToValue)).collect();
            insert.execute(&values).map_err(|error| self.target_error(error))?;
        }
        Ok(())
    }

    /// Copies what belongs to no run, and a later part of the run needs.
    fn copy_shared(&self) -> Result<(), ReadFailure> {
        for table in SHARED {
            if !self.source.has_table(table.name)? {
                continue;
            }
            let conflict = "on conflict do nothing";
            let mut insert = table.inserting(self.target, conflict).map_err(|error| self.target_error(error))?;
            let select = format!("select {} from {}", table.select(self.source, table.long), table.name);
            let mut statement = self.source.prepare_cached(&select)?;
            let mut rows = statement.query(params![])?;
            while let Some(row) = rows.next()? {
                let last = table.check_from(0, &row, table.long)? - 1;
                let values = (0..last).map(|column| row.value(column)).collect::<SqlResult<Vec<_>>>()?;
                let values: Vec<&dyn ToValue> = values.iter().map(|value| value as &dyn ToValue).collect();
                insert.execute(&values).map_err(|error| self.target_error(error))?;
            }
        }
        Ok(())
    }
}
