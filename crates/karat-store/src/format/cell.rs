//! Cells: the facts of a row of `cells`.

use std::ops::RangeInclusive;

use karat_types::{CellRecord, CellStatus, ResponseFacts};

use super::cost::{pack_cost, unpack_cost};
use super::notes::{
    pack_answered, pack_error, pack_facts, pack_keys, pack_notes, unpack_answered, unpack_error, unpack_facts,
    unpack_keys, unpack_notes,
};
use super::score::{pack_scores, unpack_scores};
use crate::block::pack::{Packer, Unpacker, unseal};
use crate::error::Damage;

/// Format version. 2 added the time at which a reused output was made, 3 the facts that answers state about
/// themselves, 4 scores that are verdicts, 5 the models that answered, 6 a checksum, which 8 leaves to the row.
const VERSION: u8 = 8;

/// The versions with a checksum of their own.
const SEALED: RangeInclusive<u8> = 6..=7;

/// Returns the code of a cell's status in its column.
pub(crate) fn status_code(status: CellStatus) -> i64 {
    match status {
        CellStatus::Ok => 0,
        CellStatus::Error => 1,
        CellStatus::Skipped => 2,
    }
}

fn status_of(code: i64) -> Result<CellStatus, Damage> {
    [CellStatus::Ok, CellStatus::Error, CellStatus::Skipped]
        .into_iter()
        .find(|status| status_code(*status) == code)
        .ok_or_else(|| Damage(format!("{code} is not the status of a cell")))
}

/// Packs everything but ordinal, status and output, which have columns.
pub(crate) fn pack_cell(packer: &mut Packer, cell: &CellRecord) {
    packer.byte(VERSION);
    pack_scores(packer, &cell.scores);
    packer.key(cell.key);
    packer.key(cell.output_hash);
    packer.byte(u8::from(cell.reused));
    pack_cost(packer, &cell.cost);
    packer.float(cell.latency_ms);
    pack_keys(packer, &cell.calls);
    pack_notes(packer, &cell.notes);
    pack_error(packer, cell.error.as_ref());
    packer.option(cell.made_at, Packer::moment);
    pack_facts(packer, &cell.facts);
    pack_answered(packer, &cell.facts.answered);
}

/// A row of `cells`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredCell<'a> {
    pub ordinal: u64,
    pub status: i64,
    pub facts: &'a [u8],
}

/// Unpacks a cell, without its output.
pub(crate) fn unpack_cell(row: StoredCell<'_>) -> Result<CellRecord, Damage> {
    let facts = unseal(row.facts, SEALED, &[row.ordinal, row.status.unsigned_abs()])?;
    let (mut unpacker, version) = Unpacker::with_version(facts, VERSION)?;
    let scores = unpack_scores(&mut unpacker)?;
    let mut cell = CellRecord {
        ordinal: row.ordinal,
        key: unpacker.key()?,
        status: status_of(row.status)?,
        output: None,
        output_hash: unpacker.key()?,
        scores,
        reused: unpacker.flag()?,
        cost: unpack_cost(&mut unpacker, version > 6)?,
        latency_ms: unpacker.float()?,
        calls: unpack_keys(&mut unpacker)?,
        notes: unpack_notes(&mut unpacker)?,
        error: unpack_error(&mut unpacker)?,
        made_at: None,
        facts: ResponseFacts::default(),
    };
    if version > 1 {
        cell.made_at = unpacker.option(Unpacker::moment)?;
    }
    cell.facts = unpack_facts(&mut unpacker)?;
    cell.facts.answered = unpack_answered(&mut unpacker)?;
    unpacker.end()?;
    Ok(cell)
}

#[cfg(test)]
mod tests {
    use karat_types::{CellCost, Usage};

    use super::*;

    /// Invariant 7, formats have versions: cells of version 5, which have neither a checksum nor counts of cache writes, are read.
    #[test]
    fn a_cell_without_a_checksum_is_read() {
        let usage = Usage {
            input_tokens: 93,
            cached_input_tokens: 92,
            output_tokens: 91,
            reasoning_tokens: 90,
            ..Usage::default()
        };
        let cost = CellCost { usage, ..CellCost::default() };
        let cell = CellRecord { latency_ms: 1.5, cost, ..CellRecord::empty(7) };
        let mut facts = Packer::pack(|packer| pack_cell(packer, &cell));
        let row = |facts: &[u8]| unpack_cell(StoredCell { ordinal: 7, status: status_code(cell.status), facts });
        assert_eq!(row(&facts).unwrap(), cell);
        facts[0] = 7;
        assert!(row(&facts).is_err(), "it has no checksum");
        facts[0] = 5;
        let counts = facts.windows(4).position(|bytes| bytes == [93, 92, 91, 90]).unwrap();
        facts.drain(counts + 4..counts + 6);
        assert_eq!(row(&facts).unwrap(), cell);
    }
}
