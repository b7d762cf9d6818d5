//! The scores of one unit, reduced as at the end of a run.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use karat_types::{PlanHeader, RowError, RunRows, SampleRecord};

use crate::figures::groups::CellCounts;
use crate::gate::partner::Partner;
use crate::score::consensus::CellScores;
use crate::score::matched_cells::{MatchedCells, MissingCount, SampleCells};
use crate::score::table::{ScoreTable, State, TableBuilder};

/// The scores of one unit.
pub(super) struct UnitScores {
    plan: Arc<PlanHeader>,
    table: ScoreTable,
    /// Its samples, in the order of the plan.
    pub(super) samples: Vec<SampleRecord>,
    /// By system.
    pub(super) counts: Vec<CellCounts>,
}

/// The value of a sample and the cells that have none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SampleValue {
    pub(super) value: Option<f64>,
    pub(super) missing: MissingCount,
    pub(super) lacking: MissingCount,
}

impl UnitScores {
    /// Reads the cells of a unit that `is_needed` names.
    ///
    /// # Errors
    /// Rows that cannot be read.
    pub(super) fn read(
        plan: &Arc<PlanHeader>,
        rows: &dyn RunRows,
        ordinals: &[Range<u64>],
        is_needed: impl Fn(&SampleRecord, usize) -> bool,
    ) -> Result<Self, RowError> {
        let mut builder = TableBuilder::new(plan.clone()).map_err(|error| RowError(error.to_string()))?;
        let mut samples: Vec<SampleRecord> = Vec::with_capacity(ordinals.len());
        let mut counts = vec![CellCounts::default(); plan.systems.len()];
        for range in ordinals {
            rows.for_each_in(range.clone(), &mut |row| {
                if is_needed(row.sample, row.system) {
                    let scores = CellScores::of(plan, &row);
                    builder.add(&row, &scores);
                    if samples.last().is_none_or(|sample| sample.row != row.sample.row) {
                        samples.push(row.sample.clone());
                    }
                    if let Some(counts) = counts.get_mut(row.system) {
                        *counts += CellCounts::of(plan, &row, &scores);
                    }
                }
                ControlFlow::Continue(())
            })?;
        }
        Ok(Self { plan: plan.clone(), table: builder.finish(), samples, counts })
    }

    fn cells(&self, metric: usize, sample: usize, system: usize) -> SampleCells<'_> {
        SampleCells::for_figures(&self.table, &self.plan, (metric, sample, system))
    }

    /// The score of a sample, if it has one.
    pub(super) fn score(&self, metric: usize, sample: usize, system: usize) -> Option<f64> {
        self.cells(metric, sample, system).value()
    }

    /// The mean score of a sample over some systems; `None` unless all of them have one or are skipped.
    pub(super) fn figure(&self, metric: usize, sample: usize, systems: &[usize]) -> SampleValue {
        let each = systems.iter().map(|system| {
            let cells = self.cells(metric, sample, *system);
            let state = cells.combine_trials().0;
            (cells.value(), cells.missing(), MissingCount::default(), is_left_out(state))
        });
        mean_of(each)
    }

    /// The mean change of a sample over some systems.
    pub(super) fn change(&self, metric: usize, sample: usize, partners: &[(usize, Partner<'_>)]) -> SampleValue {
        let (name, id) = (self.metric_name(metric), self.samples.get(sample).map_or("", |sample| &sample.id));
        let each = partners.iter().map(|(system, partner)| {
            let own = self.cells(metric, sample, *system);
            let before = match partner {
                Partner::Pinned(pinned, at) => pinned.sample_cells(*at, name, id, own.rule()),
                Partner::System(other) => self.cells(metric, sample, *other),
            };
            let missing = own.missing();
            let pairs = MatchedCells::of(before, own);
            let lacking = pairs.missing();
            (pairs.values().map(|(before, now)| now - before), missing, lacking, pairs.n() == 0)
        });
        mean_of(each)
    }

    fn metric_name(&self, metric: usize) -> &str {
        self.plan.metrics.get(metric).map_or("", |metric| &metric.name)
    }
}

/// Returns whether a cell needs no score.
fn is_left_out(state: State) -> bool {
    matches!(state, State::Skipped | State::NotApplicable | State::Absent)
}

/// The mean of the systems' values: value, missing scores, missing pairs, and whether none is due.
fn mean_of(each: impl Iterator<Item = (Option<f64>, MissingCount, MissingCount, bool)>) -> SampleValue {
    let mut found = SampleValue::default();
    let (mut sum, mut n, mut is_partial) = (0.0, 0_u32, false);
    for (value, missing, lacking, is_left_out) in each {
        found.missing.add(missing);
        found.lacking.add(lacking);
        match value {
            Some(value) => (sum, n) = (sum + value, n + 1),
            None => is_partial |= !is_left_out,
        }
    }
    found.value = (n > 0 && !is_partial).then(|| sum / f64::from(n));
    found
}
