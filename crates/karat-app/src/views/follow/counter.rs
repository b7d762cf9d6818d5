//! Counts the cells of a run from its changes, and says which change finished a cell.

use std::collections::{BTreeMap, BTreeSet};

use karat_store::{OrdinalSet, RunChange};
use karat_types::{CellRecord, CellStatus, Money, PlanHeader};

use crate::stored::run::{JudgeOfScorer, judges_of};

/// Stands for the deterministic scorers of a cell.
const DETERMINISTIC: JudgeOfScorer = (u16::MAX, u16::MAX);

/// A cell that a change finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinishedCell {
    /// Number of the change.
    pub seq: u64,
    /// The cell's ordinal.
    pub ordinal: u64,
    /// True if it is an error, or a score of it is unscored.
    pub is_failed: bool,
}

/// The cells of a run so far.
#[derive(Debug, Default)]
pub(crate) struct CellCounter {
    /// The judges whose judgments a cell with an output needs.
    judges: Vec<JudgeOfScorer>,
    pub done: OrdinalSet,
    pub cached: OrdinalSet,
    /// Codes of the cells that ended in an error.
    pub errors: BTreeMap<u64, String>,
    /// The unscored judgments and scores, by cell.
    pub unscored: BTreeMap<u64, BTreeSet<JudgeOfScorer>>,
    pub spent: Money,
    /// Cells that have an output and wait for judgments.
    waiting: OrdinalSet,
    /// Judgments of cells that are not finished.
    judged: BTreeMap<u64, BTreeSet<JudgeOfScorer>>,
}

impl CellCounter {
    pub fn new(plan: &PlanHeader) -> Self {
        Self { judges: judges_of(plan), ..Self::default() }
    }

    /// Takes a change, and returns the cell that it finished.
    pub fn add(&mut self, change: RunChange) -> Option<FinishedCell> {
        match change {
            RunChange::Spent(money) => {
                self.spent += money;
                None
            }
            RunChange::Cell { seq, cell } => self.add_cell(seq, &cell),
            RunChange::Judgment { seq, ordinal, scorer, judge, is_sound } => {
                self.mark(ordinal, (scorer, judge), !is_sound);
                if !self.done.contains(ordinal) {
                    self.judged.entry(ordinal).or_default().insert((scorer, judge));
                }
                (self.waiting.contains(ordinal) && self.is_judged(ordinal)).then(|| self.finish(seq, ordinal))
            }
        }
    }

    /// Ends the count of a run that has ended: returns the cells with an output that some judges never saw.
    pub fn end(&mut self, seq: u64) -> Vec<FinishedCell> {
        let waiting: Vec<u64> = self.waiting.iter().collect();
        waiting.into_iter().map(|ordinal| self.finish(seq, ordinal)).collect()
    }

    /// The number of errors by code.
    pub fn codes(&self) -> BTreeMap<String, u64> {
        self.errors.values().fold(BTreeMap::new(), |mut codes, code| {
            *codes.entry(code.clone()).or_default() += 1;
            codes
        })
    }

    fn add_cell(&mut self, seq: u64, cell: &CellRecord) -> Option<FinishedCell> {
        let ordinal = cell.ordinal;
        self.cached.remove(ordinal);
        self.errors.remove(&ordinal);
        if cell.reused {
            self.cached.insert(ordinal);
        }
        if cell.status == CellStatus::Error {
            self.errors.insert(ordinal, cell.error.as_ref().map_or_else(String::new, |error| error.code.clone()));
        }
        let is_ok = cell.status == CellStatus::Ok;
        self.mark(ordinal, DETERMINISTIC, is_ok && cell.scores.iter().any(|(_, score)| score.is_unscored()));
        if is_ok && !self.is_judged(ordinal) && !self.done.contains(ordinal) {
            self.waiting.insert(ordinal);
            return None;
        }
        Some(self.finish(seq, ordinal))
    }

    fn mark(&mut self, ordinal: u64, by: JudgeOfScorer, is_unscored: bool) {
        if is_unscored {
            self.unscored.entry(ordinal).or_default().insert(by);
        } else if let Some(marks) = self.unscored.get_mut(&ordinal) {
            marks.remove(&by);
            if marks.is_empty() {
                self.unscored.remove(&ordinal);
            }
        }
    }

    fn is_judged(&self, ordinal: u64) -> bool {
        let judged = self.judged.get(&ordinal);
        self.judges.iter().all(|judge| judged.is_some_and(|judged| judged.contains(judge)))
    }

    fn finish(&mut self, seq: u64, ordinal: u64) -> FinishedCell {
        self.waiting.remove(ordinal);
        self.judged.remove(&ordinal);
        self.done.insert(ordinal);
        let is_failed = self.errors.contains_key(&ordinal) || self.unscored.contains_key(&ordinal);
        FinishedCell { seq, ordinal, is_failed }
    }
}

#[cfg(test)]
mod tests {
    use karat_types::{CellError, Score};

    use super::*;

    fn cell(seq: u64, ordinal: u64, change: impl FnOnce(&mut CellRecord)) -> RunChange {
        let mut cell = CellRecord::empty(ordinal);
        change(&mut cell);
        RunChange::Cell { seq, cell: Box::new(cell) }
    }

    fn judgment(seq: u64, ordinal: u64, judge: u16, is_sound: bool) -> RunChange {
        RunChange::Judgment { seq, ordinal, scorer: 0, judge, is_sound }
    }

    fn finished(seq: u64, ordinal: u64, is_failed: bool) -> Option<FinishedCell> {
        Some(FinishedCell { seq, ordinal, is_failed })
    }

    /// SV-06: a cell is finished by its last judgment, or by its row if it has no output; each cell once.
    #[test]
    fn the_last_judgment_finishes_a_cell() {
        let mut counter = CellCounter { judges: vec![(0, 0), (0, 1)], ..CellCounter::default() };
        assert_eq!(counter.add(cell(1, 0, |_| {})), None);
        assert_eq!(counter.add(judgment(2, 0, 1, true)), None);
        assert_eq!(counter.add(judgment(3, 1, 0, true)), None, "a judgment may come before its cell");
        assert_eq!(counter.add(judgment(4, 0, 0, false)), finished(4, 0, true));
        let failed = |cell: &mut CellRecord| {
            cell.status = CellStatus::Error;
            cell.error = Some(CellError::new("timeout", "late"));
        };
        assert_eq!(counter.add(cell(5, 2, failed)), finished(5, 2, true));
        assert_eq!(counter.add(cell(6, 1, |cell| cell.reused = true)), None);
        assert_eq!(counter.add(judgment(7, 1, 1, true)), finished(7, 1, false));
        assert_eq!((counter.done.len(), counter.cached.len(), counter.unscored.len()), (3, 1, 1));
        assert_eq!(counter.codes(), BTreeMap::from([("timeout".to_owned(), 1)]));
        assert_eq!(counter.add(cell(8, 3, |_| {})), None);
        assert_eq!(counter.end(9), [FinishedCell { seq: 9, ordinal: 3, is_failed: false }]);
    }

    /// A cell that is re-run replaces what was counted of it.
    #[test]
    fn a_later_row_replaces_an_earlier_one() {
        let mut counter = CellCounter::default();
        let failed = |cell: &mut CellRecord| cell.status = CellStatus::Error;
        assert_eq!(counter.add(cell(1, 0, failed)), finished(1, 0, true));
        let unscored = |cell: &mut CellRecord| cell.scores = vec![(0, Score::unscored("no number"))];
        assert_eq!(counter.add(cell(2, 0, unscored)), finished(2, 0, true));
        assert_eq!(counter.add(cell(3, 0, |_| {})), finished(3, 0, false));
        assert_eq!((counter.done.len(), counter.errors.len(), counter.unscored.len()), (1, 0, 0));
    }
}
