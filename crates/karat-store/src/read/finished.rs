//! The cells and judgments of a run that have a row.

use std::collections::BTreeMap;

use karat_types::{CellRecord, CellStatus};

use crate::database::transaction;
use crate::error::{Attempt, ReadFailure};
use crate::format::run_lookup::run_number;
use crate::read::cursors::{CellColumns, JudgmentColumns, read_sample, sample_query};
use crate::sql::tables::{CELLS as CELLS_TABLE, JUDGMENTS as JUDGMENTS_TABLE, SAMPLES as SAMPLES_TABLE};
use crate::sql::{Row, params};
use crate::{Store, StoreError};

/// A set of ordinals: one bit each, and no memory for long gaps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrdinalSet {
    words: BTreeMap<u64, u64>,
    len: u64,
}

impl OrdinalSet {
    /// Adds an ordinal and returns `true` if it is new.
    pub fn insert(&mut self, ordinal: u64) -> bool {
        let word = self.words.entry(ordinal / 64).or_default();
        let bit = 1 << (ordinal % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        self.len += u64::from(is_new);
        is_new
    }

    /// Returns `true` if the set contains the ordinal.
    pub fn contains(&self, ordinal: u64) -> bool {
        self.words.get(&(ordinal / 64)).is_some_and(|word| word & (1 << (ordinal % 64)) != 0)
    }

    /// Returns the number of ordinals.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns `true` if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes an ordinal.
    pub fn remove(&mut self, ordinal: u64) {
        if self.contains(ordinal)
            && let Some(word) = self.words.get_mut(&(ordinal / 64))
        {
            *word &= !(1 << (ordinal % 64));
            self.len -= 1;
        }
    }

    /// Returns the ordinals in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.words
            .iter()
            .flat_map(|(at, word)| (0..64).filter(move |bit| word & (1 << bit) != 0).map(move |bit| at * 64 + bit))
    }
}

impl FromIterator<u64> for OrdinalSet {
    fn from_iter<I: IntoIterator<Item = u64>>(ordinals: I) -> Self {
        let mut set = Self::default();
        for ordinal in ordinals {
            set.insert(ordinal);
        }
        set
    }
}

/// The judgments that one judge gave for one scorer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JudgedCells {
    /// Cells that have a judgment.
    pub present: OrdinalSet,
    /// Cells whose latest judgment is unscored in at least one metric.
    pub unscored: OrdinalSet,
}

/// The finished cells and judgments of a run, by the latest row of each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FinishedCells {
    /// Cells that have a row.
    pub cells: OrdinalSet,
    /// Cells that ended in an error.
    pub errors: OrdinalSet,
    /// Cells that a condition skipped.
    pub skipped: OrdinalSet,
    /// Cells with an unscored deterministic score.
    pub unscored: OrdinalSet,
    /// Judgments by scorer and judge.
    pub judgments: BTreeMap<(u16, u16), JudgedCells>,
    /// Rows of the dataset whose sample is stored.
    pub samples: OrdinalSet,
    /// Rows that cannot be read. What they held is left out of the sets above.
    pub damage: DamagedRows,
}

impl FinishedCells {
    /// Removes a cell, as if it had no row. Its judgments stay.
    fn remove(&mut self, ordinal: u64) {
        let Self { cells, errors, skipped, unscored, .. } = self;
        [cells, errors, skipped, unscored].into_iter().for_each(|set| set.remove(ordinal));
    }

    /// Returns `true` if the judge's judgment of the cell has a row.
    pub fn has_judgment(&self, ordinal: u64, scorer: u16, judge: u16) -> bool {
        self.judgments.get(&(scorer, judge)).is_some_and(|judged| judged.present.contains(ordinal))
    }

    /// Returns the number of cells that need no more work: they have no output, or a judgment by each of these
    /// (scorer, judge) pairs.
    pub fn count_done(&self, judges: &[(u16, u16)]) -> u64 {
        let is_judged = |ordinal| judges.iter().all(|(scorer, judge)| self.has_judgment(ordinal, *scorer, *judge));
        let is_done =
            |ordinal: &u64| self.errors.contains(*ordinal) || self.skipped.contains(*ordinal) || is_judged(*ordinal);
        self.cells.iter().filter(is_done).count() as u64
    }

    /// Returns `true` if the judge's judgment of the cell has a row and is unscored.
    pub fn is_unscored(&self, ordinal: u64, scorer: u16, judge: u16) -> bool {
        self.judgments.get(&(scorer, judge)).is_some_and(|judged| judged.unscored.contains(ordinal))
    }
}

// The later of two rows of one place comes last.
pub(crate) const CELLS: &str = "from cells where run = ?1 order by ordinal, seq";
pub(crate) const JUDGMENTS: &str = "from judgments where run = ?1 order by ordinal, scorer, judge, seq";
pub(crate) const SAMPLES: &str = "from samples where run = ?1 order by row";

impl Store {
    /// Returns the cells and judgments of a run that have a row. One that cannot be read has none, so that it is made again.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the tables cannot be read.
    pub fn finished_cells(&self, run: &str) -> Result<FinishedCells, StoreError> {
        self.read("the finished cells of a run", |connection| {
            let id = run_number(connection, run)?;
            let snapshot = connection.snapshot()?;
            let mut finished = FinishedCells::default();
            let mut statement = snapshot.prepare_long(&CellColumns::query(&snapshot, CELLS))?;
            let mut rows = statement.query(params![id])?;
            while let Some(row) = rows.next()? {
                let cell = CellColumns::read(&row).and_then(|cell| Ok(cell.unpack()?));
                match if_sound(cell)? {
                    Some(cell) => finished.add_cell(&cell),
                    None => finished.damage.note(&row, "cells", 2)?,
                }
            }
            let mut statement = snapshot.prepare_long(&JudgmentColumns::query(&snapshot, JUDGMENTS))?;
            let mut rows = statement.query(params![id])?;
            while let Some(row) = rows.next()? {
                match if_sound(JudgmentColumns::read(&row))? {
                    Some(judgment) => finished.add_judgment(&judgment),
                    None => finished.damage.note(&row, "judgments", 2)?,
                }
            }
            let mut statement = snapshot.prepare_long(&sample_query(&snapshot, SAMPLES))?;
            let mut rows = statement.query(params![id])?;
            while let Some(row) = rows.next()? {
                match if_sound(read_sample(&row))? {
                    Some(sample) => _ = finished.samples.insert(sample.row),
                    None => finished.damage.note(&row, "samples", 1)?,
                }
            }
            finished.leave_out_damaged();
            Ok(finished)
        })
    }

    /// Removes the damaged rows of a run that is continued: what they held is made again.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn remove_damaged(&self, damage: &DamagedRows) -> Result<(), StoreError> {
        if damage.rows.is_empty() {
            return Ok(());
        }
        let attempt = Attempt { path: self.path(), doing: "removing damaged rows" };
        let connection = self.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        let remove = |(table, key): &(&'static str, (i64, i64))| match *table {
            "samples" => SAMPLES_TABLE.delete(&transaction, "run = ?1 and row = ?2", params![key.0, key.1]),
            "cells" => CELLS_TABLE.delete(&transaction, "seq = ?1", params![key.0]),
            _ => JUDGMENTS_TABLE.delete(&transaction, "seq = ?1", params![key.0]),
        };
        damage.rows.iter().try_for_each(|row| remove(row).map(drop)).map_err(|error| attempt.error(error))?;
        transaction.commit().map_err(|error| attempt.error(error))
    }
}

impl FinishedCells {
    fn add_cell(&mut self, cell: &CellRecord) {
        let ordinal = cell.ordinal;
        self.remove(ordinal);
        self.cells.insert(ordinal);
        match cell.status {
            CellStatus::Error => _ = self.errors.insert(ordinal),
            CellStatus::Skipped => _ = self.skipped.insert(ordinal),
            CellStatus::Ok if cell.scores.iter().any(|(_, score)| score.is_unscored()) => {
                self.unscored.insert(ordinal);
            }
            CellStatus::Ok => {}
        }
    }

    fn add_judgment(&mut self, judgment: &JudgmentColumns) {
        let judged = self.judgments.entry((judgment.scorer, judgment.judge)).or_default();
        judged.present.insert(judgment.ordinal);
        match judgment.is_sound {
            true => judged.unscored.remove(judgment.ordinal),
            false => _ = judged.unscored.insert(judgment.ordinal),
        }
    }

    /// Leaves out the cells and judgments of which a row is damaged: another row of the place need not be the latest.
    fn leave_out_damaged(&mut self) {
        for ordinal in self.damage.cells.clone().iter() {
            self.remove(ordinal);
        }
        for ordinal in self.damage.judgments.iter() {
            for judged in self.judgments.values_mut() {
                judged.present.remove(ordinal);
                judged.unscored.remove(ordinal);
            }
        }
    }
}

/// Rows of a run that do not match their checksum, or cannot be unpacked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DamagedRows {
    /// Cells that seem to have such a row.
    pub cells: OrdinalSet,
    /// Cells that seem to have such a judgment.
    pub judgments: OrdinalSet,
    /// Table and key of each.
    rows: Vec<(&'static str, (i64, i64))>,
}

impl DamagedRows {
    /// Returns `true` if there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Notes a row; `place` is the column of its ordinal.
    fn note(&mut self, row: &Row<'_>, table: &'static str, place: usize) -> Result<(), ReadFailure> {
        // Keys are numbers of 64 bits, whatever has become of them.
        self.rows.push((table, (row.get(0)?, row.get(1)?)));
        let ordinal = row.get::<i64>(place)?.unsigned_abs();
        match table {
            "cells" => _ = self.cells.insert(ordinal),
            "judgments" => _ = self.judgments.insert(ordinal),
            _ => {}
        }
        Ok(())
    }
}

/// The record of a row; `None` if it is damaged.
fn if_sound<T>(read: Result<T, ReadFailure>) -> Result<Option<T>, ReadFailure> {
    match read {
        Ok(record) => Ok(Some(record)),
        Err(failure) if failure.is_damage() => Ok(None),
        Err(failure) => Err(failure),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_ordinal_set_behaves_like_a_btree_set(ordinals in prop::collection::vec(prop_oneof![0..200_u64, any::<u64>()], 0..100)) {
            let set: OrdinalSet = ordinals.iter().copied().collect();
            let model: BTreeSet<u64> = ordinals.into_iter().collect();
            prop_assert_eq!(set.len(), model.len() as u64);
            prop_assert!(model.iter().all(|ordinal| set.contains(*ordinal)));
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), model.into_iter().collect::<Vec<_>>());
        }
    }
}
