//! The grades of several judges, beside the merged score of each entry of the table: comparisons ask the same judges on both
//! sides, and a judge that failed counts as missing.

use std::collections::BTreeMap;

/// The grades of several judges in one metric.
#[derive(Debug, Clone, Default)]
pub(super) struct JudgedColumn {
    judges: usize,
    /// Entries × judges: the mean of a judge's grades over trials; NaN without any.
    means: Vec<f64>,
    /// By entry: every judge with a grade graded each cell that any of them did.
    complete: Vec<bool>,
    /// By entry: of its cells with a grade, the share of judgments that failed, each counted as its part of a cell.
    lost: Vec<f64>,
}

/// The grades of several judges of one entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JudgedEntry<'a> {
    /// The mean of each judge's grades over trials, NaN without any.
    pub(crate) means: &'a [f64],
    /// Every judge with a grade graded each cell that any of them did.
    pub(crate) complete: bool,
    /// Judgments that failed, in cells.
    pub(crate) lost: f64,
}

/// The judges' grades of the cells of one sample and system.
#[derive(Debug, Default)]
pub(super) struct JudgeSums {
    /// Sum and number by judge.
    by_judge: BTreeMap<u16, (f64, u32)>,
    /// Cells with a grade.
    cells: u32,
    /// Failed judgments of these, in cells.
    lost: f64,
}

impl JudgeSums {
    /// Adds a cell: its grades by number of the judge, and the number of judges that failed.
    pub(super) fn add(&mut self, grades: &[(u16, f64)], failed: usize) {
        if grades.is_empty() {
            return;
        }
        self.cells += 1;
        self.lost += failed as f64 / (failed + grades.len()) as f64;
        for (judge, grade) in grades {
            let sum = self.by_judge.entry(*judge).or_default();
            *sum = (sum.0 + grade, sum.1 + 1);
        }
    }
}

impl JudgedColumn {
    /// An empty column of so many judges.
    pub(super) fn of(judges: usize) -> Self {
        Self { judges, ..Self::default() }
    }

    pub(super) fn push(&mut self, sums: &JudgeSums) {
        self.complete.push(sums.by_judge.values().all(|(_, n)| *n == sums.cells));
        self.lost.push(sums.lost);
        let mean = |judge: usize| {
            let sum = u16::try_from(judge).ok().and_then(|judge| sums.by_judge.get(&judge));
            sum.map_or(f64::NAN, |(sum, n)| sum / f64::from(*n))
        };
        self.means.extend((0..self.judges).map(mean));
    }

    pub(super) fn entry(&self, at: usize) -> Option<JudgedEntry<'_>> {
        let means = self.means.get(at * self.judges..(at + 1) * self.judges)?;
        Some(JudgedEntry { means, complete: *self.complete.get(at)?, lost: *self.lost.get(at)? })
    }
}

impl JudgedEntry<'_> {
    /// Returns true if the same judges graded another entry, and each of them all of its cells.
    pub(super) fn has_judges_of(self, other: JudgedEntry<'_>) -> bool {
        let mut judges = self.means.iter().zip(other.means);
        self.complete && other.complete && judges.all(|(one, other)| one.is_nan() == other.is_nan())
    }
}
