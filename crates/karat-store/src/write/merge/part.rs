//! Copies one shard. Memory holds one row and the keys of reusable results that are not indexed yet.

use std::borrow::Cow;

use karat_types::RunStatus;

use super::copies::{Copies, compare};
use super::{MergedRun, Ranges, ShardSource, ranges};
use crate::StoreError;
use crate::block::pack::Damage;
use crate::error::{Attempt, ReadFailure};
use crate::format::{StoredCell, run_status_code, unpack_cell};
use crate::read::check::missing_rows;
use crate::read::run_lookup::run_number;
use crate::reuse::index_writer;
use crate::reuse::known_keys;
use crate::reuse::known_keys::{EntryPlace, ReuseKey};
use crate::sql::{Connection, Row, SqlError, SqlResult, ToValue, Transaction, Value, params};
use crate::write::merge::copies::cell_name;

const BLOCKS: &str =
    "select seq, log, reuse, judgments, outputs, traces from blocks where run = ?1 and seq > ?2 order by seq";
const INSERT_BLOCK: &str = "insert into blocks (seq, run, log, reuse, judgments, outputs, traces)
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
// In the order of the table, so that later rows stay later: the index by place would have to be sorted.
const CELLS: &str = "select ordinal, status, block, output, facts from cells not indexed
    where run = ?1 and block > ?2 order by seq";
const INSERT_CELL: &str =
    "insert into cells (run, ordinal, status, block, output, facts) values (?1, ?2, ?3, ?4, ?5, ?6)";
const JUDGMENTS: &str = "select ordinal, scorer, judge, ok, block, entry from judgments not indexed
    where run = ?1 and block > ?2 order by seq";
const INSERT_JUDGMENT: &str =
    "insert into judgments (run, ordinal, scorer, judge, ok, block, entry) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const CELL_BLOCKS: &str = "select block from cells where run = ?1 and ordinal = ?2";

/// Number of keys that wait for the index at which a merge inserts them: later processes would all have to read them.
const MANY_KEYS: i64 = 65_536;

/// Tables that belong to no run, by their keys: vectors of texts, and images that were sent.
const SHARED: [(&str, usize, &str, &str); 2] = [
    (
        "vectors",
        2,
        "select key, vector, null, null from vectors",
        "insert or ignore into vectors (key, vector) values (?1, ?2)",
    ),
    (
        "blobs",
        4,
        "select digest, media_type, at, content from blobs",
        "insert or ignore into blobs (digest, media_type, at, content) values (?1, ?2, ?3, ?4)",
    ),
];

/// Copies what a source holds of its shard and the run has not yet. Returns the number of blocks.
pub(super) fn copy(
    source: &Connection,
    target: &Transaction<'_>,
    part: &ShardSource,
    run: &MergedRun<'_>,
    attempt: Attempt<'_>,
) -> Result<u64, ReadFailure> {
    let from = run_number(source, &part.run)?;
    check_whole(source, part, from)?;
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
    target
        .execute(
            "insert or ignore into shards (run, shard, first, last) values (?1, ?2, ?3, ?4)",
            params![run.id, part.shard.number(), first, last],
        )
        .map_err(|error| attempt.error(error))?;
    let Some((first, last)) = blocks else { return Ok(0) };
    copier.copy_rows(first)?;
    copier.copy_shared()?;
    Ok((last - first).unsigned_abs() + 1)
}

/// Checks that a finished shard has the rows that it ended with.
fn check_whole(source: &Connection, part: &ShardSource, from: i64) -> Result<(), ReadFailure> {
    let status: i64 = source.query_row("select status from runs where id = ?1", params![from], |row| row.get(0))?;
    if status != run_status_code(RunStatus::Finished) {
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

/// A column as it is.
fn value<'r>(row: &Row<'r>, column: usize) -> SqlResult<Value<'r>> {
    row.value(column)
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
        let (indexed, _): (i64, i64) =
            self.source.query_row(known_keys::STATE, params![], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut insert = self.target.prepare_cached(INSERT_BLOCK).map_err(|error| self.target_error(error))?;
        let mut statement = self.source.prepare_cached(BLOCKS)?;
        let mut rows = statement.query(params![self.from, self.after])?;
        let (mut placed, mut keys) = (None::<(i64, i64, i64)>, 0_i64);
        while let Some(row) = rows.next()? {
            let seq: i64 = row.get(0)?;
            let (first, offset) = placed.map_or((newest + 1, newest + 1 - seq), |(first, _, offset)| (first, offset));
            let reuse = row.blob(2)?;
            let (reuse, count) = self.reusable_keys(seq, reuse, seq <= indexed)?;
            keys += count;
            insert
                .execute(params![
                    seq + offset,
                    self.run.id,
                    value(&row, 1)?,
                    &*reuse,
                    value(&row, 3)?,
                    value(&row, 4)?,
                    value(&row, 5)?
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
            let mut find = self.source.prepare_cached(known_keys::FIND)?;
            let mut is_there = |(key, kind): ReuseKey| find.exists(params![key.0, kind.code()]);
            let mut kept = Vec::with_capacity(keys.len());
            for (key, place) in keys {
                if is_there(key)? {
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
        let update = "update reuse_state set waiting = waiting + ?1 returning waiting";
        let waiting: i64 =
            self.target.query_row(update, params![keys], |row| row.get(0)).map_err(|error| self.target_error(error))?;
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
        let mut insert = self.target.prepare_cached(INSERT_CELL).map_err(|error| self.target_error(error))?;
        let mut statement = self.source.prepare_cached(CELLS)?;
        let mut rows = statement.query(params![self.from, self.after])?;
        while let Some(row) = rows.next()? {
            let (ordinal, status, block): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let facts = row.blob(4)?;
            let cell = StoredCell { ordinal: ordinal.unsigned_abs(), status, facts };
            unpack_cell(cell).map_err(|Damage(why)| damage_error(self.part, &format!("cell {ordinal}"), &why))?;
            self.check_free(cell.ordinal)?;
            let values = params![self.run.id, ordinal, status, block + offset, value(&row, 3)?, facts];
            insert.execute(values).map_err(|error| self.target_error(error))?;
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
        let mut insert = self.target.prepare_cached(INSERT_JUDGMENT).map_err(|error| self.target_error(error))?;
        let mut statement = self.source.prepare_cached(JUDGMENTS)?;
        let mut rows = statement.query(params![self.from, self.after])?;
        while let Some(row) = rows.next()? {
            let block: i64 = row.get(4)?;
            let place = (value(&row, 0)?, value(&row, 1)?, value(&row, 2)?, value(&row, 3)?);
            let values = params![self.run.id, place.0, place.1, place.2, place.3, block + offset, value(&row, 5)?];
            insert.execute(values).map_err(|error| self.target_error(error))?;
        }
        Ok(())
    }

    fn copy_samples(&self) -> Result<(), ReadFailure> {
        let insert = "insert or replace into samples (run, row, facts) values (?1, ?2, ?3)";
        let mut insert = self.target.prepare_cached(insert).map_err(|error| self.target_error(error))?;
        let mut statement = self.source.prepare_cached("select row, facts from samples where run = ?1")?;
        let mut rows = statement.query(params![self.from])?;
        while let Some(row) = rows.next()? {
            let values = params![self.run.id, value(&row, 0)?, value(&row, 1)?];
            insert.execute(values).map_err(|error| self.target_error(error))?;
        }
        Ok(())
    }

    /// Copies which cells' results were invalidated.
    fn copy_released(&self) -> Result<(), ReadFailure> {
        let mut statement = self.source.prepare_cached("select ordinal from released where run = ?1")?;
        let mut rows = statement.query(params![self.from])?;
        while let Some(row) = rows.next()? {
            let insert = "insert or ignore into released (run, ordinal) values (?1, ?2)";
            let values = params![self.run.id, value(&row, 0)?];
            self.target.execute(insert, values).map_err(|error| self.target_error(error))?;
        }
        Ok(())
    }

    /// Copies what belongs to no run, and a later part of the run needs.
    fn copy_shared(&self) -> Result<(), ReadFailure> {
        for (table, columns, select, insert) in SHARED {
            if !self.source.has_table(table)? {
                continue;
            }
            let mut insert = self.target.prepare_cached(insert).map_err(|error| self.target_error(error))?;
            let mut statement = self.source.prepare_cached(select)?;
            let mut rows = statement.query(params![])?;
            while let Some(row) = rows.next()? {
                let values = (0..columns).map(|column| value(&row, column)).collect::<SqlResult<Vec<_>>>()?;
                let values: Vec<&dyn ToValue> = values.iter().map(|value| value as &dyn ToValue).collect();
                insert.execute(&values).map_err(|error| self.target_error(error))?;
            }
        }
        Ok(())
    }
}
