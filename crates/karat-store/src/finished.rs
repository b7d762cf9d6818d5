//! Which cells and judgments of a run have their row.

use std::collections::BTreeMap;

use karat_types::CellStatus;
use rusqlite::params;

use crate::format::{StoredCell, status_code, unpack_cell};
use crate::known::run_number;
use crate::{Store, StoreError};

/// A set of ordinals: a bit each, and nothing for long gaps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrdinalSet {
    words: BTreeMap<u64, u64>,
    len: u64,
}

impl OrdinalSet {
    /// Adds an ordinal; whether it is new.
    pub fn insert(&mut self, ordinal: u64) -> bool {
        let word = self.words.entry(ordinal / 64).or_default();
        let bit = 1 << (ordinal % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        self.len += u64::from(is_new);
        is_new
    }

    /// Whether an ordinal is in it.
    pub fn contains(&self, ordinal: u64) -> bool {
        self.words.get(&(ordinal / 64)).is_some_and(|word| word & (1 << (ordinal % 64)) != 0)
    }

    /// How many are in it.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether none is in it.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The ordinals, ascending.
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
pub struct Judged {
    /// Cells that have a judgment.
    pub present: OrdinalSet,
    /// Those of them whose latest judgment is unscored in part or whole.
    pub unscored: OrdinalSet,
}

/// What a run has done, by the latest row of each place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Finished {
    /// Cells that have a row.
    pub cells: OrdinalSet,
    /// Those of them that ended in an error.
    pub errors: OrdinalSet,
    /// Those of them that a condition left out.
    pub skipped: OrdinalSet,
    /// Those of them that have a deterministic score which is unscored: empty unless it was asked for
    /// ([`Store::unscored`]), because it takes a look into every cell.
    pub unscored: OrdinalSet,
    /// Judgments by scorer and judge.
    pub judgments: BTreeMap<(u16, u16), Judged>,
}

impl Finished {
    /// Whether a judge's judgment of a cell has a row.
    pub fn has_judgment(&self, ordinal: u64, scorer: u16, judge: u16) -> bool {
        self.judgments.get(&(scorer, judge)).is_some_and(|judged| judged.present.contains(ordinal))
    }

    /// Cells that nothing is left to do of: they have no output, or a judgment by each of these judges of these scorers.
    pub fn done(&self, judges: &[(u16, u16)]) -> u64 {
        let is_judged = |ordinal| judges.iter().all(|(scorer, judge)| self.has_judgment(ordinal, *scorer, *judge));
        let is_done =
            |ordinal: &u64| self.errors.contains(*ordinal) || self.skipped.contains(*ordinal) || is_judged(*ordinal);
        self.cells.iter().filter(is_done).count() as u64
    }

    /// Whether a judge's judgment of a cell has a row and is unscored.
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

impl Store {
    /// The cells of a run with an output and a deterministic score that is unscored.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the rows cannot be read.
    pub fn unscored(&self, run: &str) -> Result<OrdinalSet, StoreError> {
        self.read("the scores of a run", |connection| {
            let id = run_number(connection, run)?;
            let mut statement = connection.prepare_cached(LATEST_SCORES)?;
            let mut rows = statement.query(params![id])?;
            let mut unscored = OrdinalSet::default();
            while let Some(row) = rows.next()? {
                let ordinal = row.get::<_, i64>(0)?.unsigned_abs();
                let facts = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
                let cell = unpack_cell(StoredCell { ordinal, status: row.get(1)?, facts })?;
                if cell.status == CellStatus::Ok && cell.scores.iter().any(|(_, score)| score.is_unscored()) {
                    unscored.insert(ordinal);
                }
            }
            Ok(unscored)
        })
    }

    /// Which cells and judgments of a run have their row.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the rows cannot be read.
    pub fn finished(&self, run: &str) -> Result<Finished, StoreError> {
        self.read("the finished cells of a run", |connection| {
            let id = run_number(connection, run)?;
            let snapshot = connection.unchecked_transaction()?;
            let mut finished = Finished::default();
            let mut statement = snapshot.prepare_cached(LATEST_CELLS)?;
            let mut rows = statement.query(params![id])?;
            while let Some(row) = rows.next()? {
                let ordinal = row.get::<_, i64>(0)?.unsigned_abs();
                finished.cells.insert(ordinal);
                match row.get::<_, i64>(1)? {
                    code if code == status_code(CellStatus::Error) => finished.errors.insert(ordinal),
                    code if code == status_code(CellStatus::Skipped) => finished.skipped.insert(ordinal),
                    _ => false,
                };
            }
            let mut statement = snapshot.prepare_cached(LATEST_JUDGMENTS)?;
            let mut rows = statement.query(params![id])?;
            while let Some(row) = rows.next()? {
                let ordinal = row.get::<_, i64>(0)?.unsigned_abs();
                let judged = finished.judgments.entry((row.get(1)?, row.get(2)?)).or_default();
                judged.present.insert(ordinal);
                if !row.get::<_, bool>(3)? {
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
        fn a_set_of_ordinals_is_a_set(ordinals in prop::collection::vec(prop_oneof![0..200_u64, any::<u64>()], 0..100)) {
            let set: OrdinalSet = ordinals.iter().copied().collect();
            let model: BTreeSet<u64> = ordinals.into_iter().collect();
            prop_assert_eq!(set.len(), model.len() as u64);
            prop_assert!(model.iter().all(|ordinal| set.contains(*ordinal)));
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), model.into_iter().collect::<Vec<_>>());
        }
    }
}
