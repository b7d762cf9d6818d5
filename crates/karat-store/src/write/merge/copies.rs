//! Compares a shard with what was merged of it before, block by block, and where these differ, cell by cell.

use karat_types::{JudgmentRow, RunHeader};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::Ranges;
use crate::block::section_cache::{SectionCache, SectionKind};
use crate::error::ReadFailure;
use crate::format::{unpack_judgment, unpack_sample};

// Requests and responses are left out: they may have been pruned in one of the two.
const BLOCKS: &str = "select seq, log, judgments, outputs from blocks where run = ?1 and seq > ?2 order by seq";
const BLOCKS_OF: &str =
    "select log, judgments, outputs from blocks where run = ?1 and seq >= ?2 and seq <= ?3 order by seq";
const LATEST: &str = "select ordinal, status, facts, max(seq) from cells where run = ?1 group by ordinal";
const CELL: &str = "select status, facts, max(seq) from cells where run = ?1 and ordinal = ?2";
const JUDGMENTS: &str = "select scorer, judge, block, entry, max(seq) from judgments
    where run = ?1 and ordinal = ?2 group by scorer, judge order by scorer, judge";

/// How a shard and what was merged of it relate.
pub(super) enum Copies {
    /// All of it was merged.
    Same,
    /// What was merged ends with this block of the shard; 0 if nothing was.
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
    let mut after = 0;
    for (first, last) in known {
        let mut statement = target.prepare_cached(BLOCKS_OF)?;
        let mut merged = statement.query(params![runs.1, first, last])?;
        while let Some(block) = merged.next()? {
            // An older copy of the shard.
            let Some(own) = ours.next()? else { return Ok(Copies::Same) };
            let is_same = |at: usize| Ok::<_, rusqlite::Error>(block.get_ref(at)? == own.get_ref(at + 1)?);
            if !(is_same(0)? && is_same(1)? && is_same(2)?) {
                return compare_cells(source, target, runs);
            }
            after = own.get(0)?;
        }
    }
    let is_new = known.is_empty() || ours.next()?.is_some();
    Ok(if is_new { Copies::Continues { after } } else { Copies::Same })
}

/// Compares the latest rows of all cells of the source. Equal rows may stand in other blocks.
fn compare_cells(
    source: &Connection,
    target: &Transaction<'_>,
    (from, to): (i64, i64),
) -> Result<Copies, ReadFailure> {
    // Not the cache of the store: what is read here is not committed, and may never be.
    let caches = (SectionCache::default(), SectionCache::default());
    let mut statement = source.prepare(LATEST)?;
    let mut rows = statement.query(params![from])?;
    while let Some(row) = rows.next()? {
        let ordinal = row.get::<_, i64>(0)?;
        let is_same = target.prepare_cached(CELL)?.query_row(params![to, ordinal], |other| {
            Ok(other.get_ref(0)? == row.get_ref(1)? && other.get_ref(1)? == row.get_ref(2)?)
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
    let mut statement = connection.prepare_cached(JUDGMENTS)?;
    let mut rows = statement.query(params![run, ordinal])?;
    let mut judgments = Vec::new();
    while let Some(row) = rows.next()? {
        let section = cache.section(connection, row.get(2)?, SectionKind::Judgments)?;
        judgments.push(unpack_judgment(section.section.entry(row.get::<_, i64>(3)?.unsigned_abs())?)?);
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
    let facts: Option<Vec<u8>> = connection
        .query_row("select facts from samples where run = ?1 and row = ?2", params![run, row as i64], |it| it.get(0))
        .optional()?;
    Ok(facts.map(|facts| unpack_sample(row, &facts)).transpose()?.map(|sample| sample.id))
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
