//! The cells and judgments of a run that have a row.

use std::collections::BTreeMap;

use karat_types::{CellRecord, CellStatus};

use crate::format::{StoredCell, status_code, unpack_cell};
use crate::read::run_lookup::run_number;
use crate::sql::params;
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
    /// Cells with an unscored deterministic score. Empty unless filled from [`Store::unscored_cells`], which reads
    /// every cell.
    pub unscored: OrdinalSet,
    /// Judgments by scorer and judge.
    pub judgments: BTreeMap<(u16, u16), JudgedCells>,
}

impl FinishedCells {
    /// Removes a cell, as if it had no row. Its judgments stay.
    pub fn remove(&mut self, ordinal: u64) {
        let Self { cells, errors, skipped, unscored, judgments: _ } = self;
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

// A bare column beside max() comes from the row that has the maximum: the latest.
pub(crate) const LATEST_CELLS: &str = "select ordinal, status, max(seq) from cells where run = ?1 group by ordinal";
pub(crate) const LATEST_JUDGMENTS: &str = "select ordinal, scorer, judge, ok, max(seq) from judgments where run = ?1
    group by ordinal, scorer, judge";

pub(crate) const LATEST_SCORES: &str =
    "select ordinal, status, facts, max(seq) from cells where run = ?1 group by ordinal";

const LATEST_CELLS_ON_SERVER: &str =
    "select distinct on (ordinal) ordinal, status, seq from cells where run = ?1 order by ordinal, seq desc";
const LATEST_JUDGMENTS_ON_SERVER: &str = "select distinct on (ordinal, scorer, judge) ordinal, scorer, judge, ok, seq
    from judgments where run = ?1 order by ordinal, scorer, judge, seq desc";
const LATEST_SCORES_ON_SERVER: &str =
    "select distinct on (ordinal) ordinal, status, facts, seq from cells where run = ?1 order by ordinal, seq desc";

impl Store {
    /// Returns the cells of a run that have an output and an unscored deterministic score, and those that cannot be read.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the rows cannot be read.
    pub fn unscored_cells(&self, run: &str) -> Result<OrdinalSet, StoreError> {
        self.cells_where(run, |cell| {
            cell.is_none_or(|cell| {
                cell.status == CellStatus::Ok && cell.scores.iter().any(|(_, score)| score.is_unscored())
            })
        })
    }

    /// Returns the cells of a run whose latest row cannot be read.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the table cannot be read.
    pub fn unreadable_cells(&self, run: &str) -> Result<OrdinalSet, StoreError> {
        self.cells_where(run, |cell| cell.is_none())
    }

    fn cells_where(
        &self,
        run: &str,
        is_wanted: impl Fn(Option<&CellRecord>) -> bool,
    ) -> Result<OrdinalSet, StoreError> {
        self.read("the cells of a run", |connection| {
            let id = run_number(connection, run)?;
            let snapshot = connection.snapshot()?;
            let mut statement = snapshot.prepare_long(snapshot.dialect(LATEST_SCORES, LATEST_SCORES_ON_SERVER))?;
            let mut rows = statement.query(params![id])?;
            let mut wanted = OrdinalSet::default();
            while let Some(row) = rows.next()? {
                let ordinal = row.get::<i64>(0)?.unsigned_abs();
                let facts = row.blob(2)?;
                let cell = unpack_cell(StoredCell { ordinal, status: row.get(1)?, facts }).ok();
                if is_wanted(cell.as_ref()) {
                    wanted.insert(ordinal);
                }
            }
            Ok(wanted)
        })
    }

    /// Returns the cells and judgments of a run that have a row.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the rows cannot be read.
    pub fn finished_cells(&self, run: &str) -> Result<FinishedCells, StoreError> {
        self.read("the finished cells of a run", |connection| {
            let id = run_number(connection, run)?;
            let snapshot = connection.snapshot()?;
            let mut finished = FinishedCells::default();
            let mut statement = snapshot.prepare_long(snapshot.dialect(LATEST_CELLS, LATEST_CELLS_ON_SERVER))?;
            let mut rows = statement.query(params![id])?;
            while let Some(row) = rows.next()? {
                let ordinal = row.get::<i64>(0)?.unsigned_abs();
                finished.cells.insert(ordinal);
                match row.get::<i64>(1)? {
                    code if code == status_code(CellStatus::Error) => finished.errors.insert(ordinal),
                    code if code == status_code(CellStatus::Skipped) => finished.skipped.insert(ordinal),
                    _ => false,
                };
            }
            let mut statement =
                snapshot.prepare_long(snapshot.dialect(LATEST_JUDGMENTS, LATEST_JUDGMENTS_ON_SERVER))?;
            let mut rows = statement.query(params![id])?;
            while let Some(row) = rows.next()? {
                let ordinal = row.get::<i64>(0)?.unsigned_abs();
                let judged = finished.judgments.entry((row.get(1)?, row.get(2)?)).or_default();
                judged.present.insert(ordinal);
                if !row.get::<bool>(3)? {
                    judged.unscored.insert(ordinal);
                }
            }
            Ok(finished)
        })
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
