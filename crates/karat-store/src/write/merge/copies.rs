//! Compares a shard with what was merged of it before, block by block, and where these differ, cell by cell.

use karat_types::{JudgmentRow, RunHeader};

use super::Ranges;
use crate::block::section_cache::{SectionCache, SectionKind};
use crate::error::ReadFailure;
use crate::read::cursors::{JudgmentColumns, read_sample, sample_query};
use crate::sql::{Connection, SqlError, Transaction, params};

// Requests and responses are left out: they may have been pruned in one of the two.
const BLOCKS: &str = "select seq, log, judgments, outputs from blocks where run = ?1 and seq > ?2 order by seq";
const BLOCKS_OF: &str =
    "select seq, log, judgments, outputs from blocks where run = ?1 and seq >= ?2 and seq <= ?3 order by seq";
/// The rows of cells and judgments, of a shard and of what was merged of it, without the numbers of their blocks.
const ROWS: [(&str, &str); 2] = [
    (
        "select ordinal, status, output, facts from cells not indexed where run = ?1 and block <= ?2 order by seq",
        "select ordinal, status, output, facts from cells not indexed
        where run = ?1 and block >= ?2 and block <= ?3 order by seq",
    ),
    (
        "select ordinal, scorer, judge, ok, entry from judgments not indexed where run = ?1 and block <= ?2 order by seq",
        "select ordinal, scorer, judge, ok, entry from judgments not indexed
        where run = ?1 and block >= ?2 and block <= ?3 order by seq",
    ),
];
const LATEST: &str = "select ordinal, status, facts, max(seq) from cells where run = ?1 group by ordinal";
const CELL: &str = "select status, facts, max(seq) from cells where run = ?1 and ordinal = ?2";
const OF_CELL: &str = "from judgments where run = ?1 and ordinal = ?2 order by scorer, judge, seq";

/// The relation of a shard to what was merged of it.
pub(super) enum Copies {
    /// All of it was merged.
    Same,
    /// The merged part ends with this block of the shard; 0 if nothing was.
    Continues { after: i64 },
    /// They are different runs, or were both continued: the first cell that differs.
    Differ { ordinal: u64 },
}

/// Compares a shard in a source with the blocks that were merged of it. `runs` are the numbers of the runs.
pub(super) fn compare(
    source: &Connection,
    target: &Transaction<'_>,
    runs: (i64, i64),
    known: &Ranges,
) -> Result<Copies, ReadFailure> {
    let mut statement = source.prepare_cached(BLOCKS)?;
    let mut ours = statement.query(params![runs.0, 0])?;
    let (mut after, mut last_known) = (0, 0);
    let mut is_older = false;
    'ranges: for (first, last) in known {
        let mut statement = target.prepare_cached(BLOCKS_OF)?;
        let mut merged = statement.query(params![runs.1, first, last])?;
        while let Some(block) = merged.next()? {
            let Some(own) = ours.next()? else {
                is_older = true;
                break 'ranges;
            };
            let is_same = |at: usize| Ok::<_, SqlError>(block.value(at)? == own.value(at)?);
            if !(is_same(1)? && is_same(2)? && is_same(3)?) {
                return compare_cells(source, target, runs);
            }
            (after, last_known) = (own.get(0)?, block.get(0)?);
        }
    }
    for (own, merged) in ROWS {
        if let Some(ordinal) = different_row(source, target, (own, merged), runs, (after, last_known), known)? {
            return Ok(Copies::Differ { ordinal });
        }
    }
    let is_new = known.is_empty() || (!is_older && ours.next()?.is_some());
    Ok(if is_new { Copies::Continues { after } } else { Copies::Same })
}

/// Compares the rows of the blocks that are in both, in the order in which they were written. Returns the first cell that
/// differs.
fn different_row(
    source: &Connection,
    target: &Transaction<'_>,
    (own, merged): (&str, &str),
    runs: (i64, i64),
    (after, last_known): (i64, i64),
    known: &Ranges,
) -> Result<Option<u64>, ReadFailure> {
    let columns = own.split(" from ").next().unwrap_or_default().split(',').count();
    let mut statement = source.prepare_cached(own)?;
    let mut ours = statement.query(params![runs.0, after])?;
    let mut statement = target.prepare_cached(merged)?;
    for (first, last) in known {
        let mut rows = statement.query(params![runs.1, first, last.min(&last_known)])?;
        while let Some(row) = rows.next()? {
            let Some(own) = ours.next()? else { return Ok(Some(row.get::<i64>(0)?.unsigned_abs())) };
            for column in 0..columns {
                if own.value(column)? != row.value(column)? {
                    return Ok(Some(own.get::<i64>(0)?.unsigned_abs()));
                }
            }
        }
    }
    Ok(ours.next()?.map(|row| row.get::<i64>(0)).transpose()?.map(i64::unsigned_abs))
}

/// Compares the latest rows of all cells of the source. Equal rows may stand in other blocks.
fn compare_cells(source: &Connection, target: &Transaction<'_>, (from, to): (i64, i64)) -> Result<Copies, ReadFailure> {
    // Not the cache of the store: what is read here is not committed, and may never be.
    let caches = (SectionCache::default(), SectionCache::default());
    let mut statement = source.prepare_cached(LATEST)?;
    let mut rows = statement.query(params![from])?;
    while let Some(row) = rows.next()? {
        let ordinal = row.get::<i64>(0)?;
        let is_same = target.prepare_cached(CELL)?.query_row(params![to, ordinal], |other| {
            Ok(other.value(0)? == row.value(1)? && other.value(1)? == row.value(2)?)
        })?;
        if !is_same || judgments(source, &caches.0, from, ordinal)? != judgments(target, &caches.1, to, ordinal)? {
            return Ok(Copies::Differ { ordinal: ordinal.unsigned_abs() });
        }
    }
    Ok(Copies::Same)
}

fn judgments(
    connection: &Connection,
    cache: &SectionCache,
    run: i64,
    ordinal: i64,
) -> Result<Vec<JudgmentRow>, ReadFailure> {
    let mut statement = connection.prepare_cached(&JudgmentColumns::query(connection, OF_CELL))?;
    let mut rows = statement.query(params![run, ordinal])?;
    let mut latest: Vec<JudgmentColumns> = Vec::new();
    while let Some(row) = rows.next()? {
        let row = JudgmentColumns::read(&row)?;
        latest.pop_if(|before| before.place() == row.place());
        latest.push(row);
    }
    drop(rows);
    let mut judgments = Vec::new();
    for row in latest {
        judgments.push(row.unpack(&*cache.section(connection, row.block, SectionKind::Judgments)?)?);
    }
    Ok(judgments)
}

/// The id of a cell's sample.
pub(super) fn sample_of(
    connection: &Connection,
    run: i64,
    header: &RunHeader,
    ordinal: u64,
) -> Result<Option<String>, ReadFailure> {
    let (row, ..) = header.plan.place(ordinal);
    let select = sample_query(connection, "from samples where run = ?1 and row = ?2");
    let mut statement = connection.prepare_cached(&select)?;
    let mut rows = statement.query(params![run, row as i64])?;
    Ok(rows.next()?.map(|row| read_sample(&row)).transpose()?.map(|sample| sample.id))
}

/// The name of a cell: its number, and `sample/model/variant/trial`.
pub(super) fn cell_name(header: &RunHeader, sample: Option<&String>, ordinal: u64) -> String {
    let (row, system, trial) = header.plan.place(ordinal);
    let sample = sample.cloned().unwrap_or_else(|| format!("row {row}"));
    let model = header.plan.system_model(system).map(|model| model.id.as_str());
    let trial = (trial > 0).then(|| trial.to_string());
    let parts = [Some(sample.as_str()), model, Some(header.plan.system_variant(system)), trial.as_deref()];
    let name: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    format!("{ordinal} ({})", name.join("/"))
}
