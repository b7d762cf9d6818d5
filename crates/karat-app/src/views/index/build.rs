//! Rows to an index: one pass, in plan order.

use std::collections::HashMap;
use std::ops::ControlFlow;

use karat_analysis::{CellScores, resolve_checks};
use karat_types::{CellError, CellRow, CellStatus, Key, KeyBuilder, Money, PlanHeader, RowError, RunRows};

use crate::views::index::columns::{CellFlag, IndexedSample, MetricColumn, OWN_FLAGS, RunIndex};

/// Characters kept of an error or note; searches look no further.
const REMARK: usize = 400;

/// Builds the index of a run.
///
/// # Errors
/// A row cannot be read.
pub(crate) fn build(rows: &dyn RunRows) -> Result<RunIndex, RowError> {
    let plan = resolve_checks(rows)?;
    let mut builder = Builder::new(&plan);
    let before = rows.header().plan.metrics.iter();
    let resolved =
        before.zip(&plan.metrics).enumerate().filter(|(_, (before, after))| before.verdicts && !after.verdicts);
    builder.index.plain_numbers = resolved.filter_map(|(at, _)| u16::try_from(at).ok()).collect();
    rows.for_each(&mut |row| {
        builder.add(&row);
        ControlFlow::Continue(())
    })?;
    Ok(builder.finish())
}

struct Builder<'a> {
    plan: &'a PlanHeader,
    index: RunIndex,
    texts: HashMap<String, u32>,
}

impl<'a> Builder<'a> {
    fn new(plan: &'a PlanHeader) -> Self {
        let metrics = vec![MetricColumn::default(); plan.metrics.len()];
        Self { plan, index: RunIndex { metrics, ..RunIndex::default() }, texts: HashMap::new() }
    }

    fn add(&mut self, row: &CellRow<'_>) {
        let scores = CellScores::of(self.plan, row);
        let index = &mut self.index;
        let cell = row.cell;
        index.ordinals.push(cell.ordinal);
        index.statuses.push(match cell.status {
            CellStatus::Ok => 0,
            CellStatus::Error => 1,
            CellStatus::Skipped => 2,
        });
        index.systems.push(u16::try_from(row.system).unwrap_or(u16::MAX));
        index.trials.push(row.trial);
        if index.sample_names.last().is_none_or(|sample| sample.row != row.sample.row) {
            index.sample_names.push(IndexedSample { row: row.sample.row, id: row.sample.id.clone() });
        }
        index.samples.push((index.sample_names.len() - 1) as u32);
        let Some(start) = cell.output_hash.0.first_chunk() else { return };
        index.outputs.push(u64::from_le_bytes(*start));
        index.flags.push(flags(row, &scores));
        for (at, column) in index.metrics.iter_mut().enumerate() {
            column.push(scores.number(at));
        }
        // A replayed call and a skipped cell took no time.
        index.latency.push((cell.latency_ms > 0.0).then_some(cell.latency_ms));
        index.cost.push(cost(row).map(Money::usd));
        let remark = |error: &CellError| format!("{}: {}", error.code, error.message);
        let errors = row.cell.error.iter().chain(row.judgments.iter().filter_map(|it| it.error.as_ref()));
        let notes = row.cell.notes.iter().chain(row.judgments.iter().flat_map(|it| &it.notes));
        let unscored = scores.scores.iter().flatten().filter_map(|score| match score {
            karat_types::Score::Unscored { unscored } => Some(unscored.clone()),
            _ => None,
        });
        for text in errors.map(remark).chain(notes.map(|note| note.text.clone())).chain(unscored) {
            self.remark(text);
        }
    }

    /// Adds an error or note to the last cell.
    fn remark(&mut self, mut text: String) {
        if let Some((end, _)) = text.char_indices().nth(REMARK) {
            text.truncate(end);
        }
        let cell = (self.index.len() - 1) as u32;
        let next = self.index.texts.len() as u32;
        let at = *self.texts.entry(text).or_insert_with_key(|text| {
            self.index.texts.push(text.clone());
            next
        });
        if !self.index.remarks.iter().rev().take_while(|(of, _)| *of == cell).any(|(_, other)| *other == at) {
            self.index.remarks.push((cell, at));
        }
    }

    fn finish(mut self) -> RunIndex {
        self.index.find_groups();
        self.index
    }
}

fn flags(row: &CellRow<'_>, scores: &CellScores) -> u8 {
    let has = |flag: &CellFlag| match flag {
        CellFlag::Error => row.cell.status == CellStatus::Error,
        CellFlag::Unscored => row.cell.status == CellStatus::Ok && scores.any_unscored(),
        CellFlag::JudgesDisagree => scores.consensus.iter().flatten().any(|agreed| agreed.flagged),
        CellFlag::Capped => row.judgments.iter().any(|judgment| !judgment.caps.is_empty()),
        CellFlag::Cached => row.cell.reused,
        CellFlag::Moved | CellFlag::Flagged => false,
    };
    OWN_FLAGS.iter().enumerate().filter(|(_, flag)| has(flag)).map(|(bit, _)| 1 << bit).sum()
}

/// The cost of a cell's calls, judges included; `None` if a price is unknown.
pub(crate) fn cost(row: &CellRow<'_>) -> Option<Money> {
    std::iter::once(row.cell.cost.cost).chain(row.judgments.iter().map(|judgment| judgment.cost.cost)).sum()
}

/// The kind of derived data.
pub(crate) const KIND: &str = "view-index";

/// The version of the form, and of the meaning of its columns.
const FORM: u64 = 1;

/// The key of an index of a run in this state.
pub(crate) fn version_key(state: Key) -> Key {
    key_of(state, FORM)
}

fn key_of(state: Key, form: u64) -> Key {
    KeyBuilder::new("karat/view-index").key(state).number(form).text(env!("CARGO_PKG_VERSION")).finish()
}

/// Returns the bytes of an index; empty if they cannot be made, which no index causes.
pub(crate) fn write(index: &RunIndex) -> Vec<u8> {
    postcard::to_stdvec(index).unwrap_or_default()
}

/// Reads an index; `None` if the bytes are none.
pub(crate) fn read(bytes: &[u8]) -> Option<RunIndex> {
    let mut index: RunIndex = postcard::from_bytes(bytes).ok()?;
    if !index.is_sound() {
        return None;
    }
    index.find_groups();
    Some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-04, invariant 7, formats have versions: the key changes with the run and with the form, so that an older form is never read.
    #[test]
    fn key_depends_on_state_and_form() {
        let (one, other) = (Key::of("test", b"1"), Key::of("test", b"2"));
        assert_eq!(version_key(one), key_of(one, FORM));
        assert!(version_key(one) != version_key(other) && version_key(one) != key_of(one, FORM + 1));
    }

    #[test]
    fn foreign_bytes_are_no_index() {
        assert!(read(b"").is_none() && read(&[0xff; 64]).is_none());
        assert_eq!(read(&write(&RunIndex::default())), Some(RunIndex::default()));
        let broken = RunIndex { ordinals: vec![1, 2], ..RunIndex::default() };
        assert!(read(&write(&broken)).is_none());
    }
}
