//! Calibrates estimates of input lengths with those that an earlier run measured.

use super::context::{EstimateContext, PlannedCell};
use crate::EngineError;
use crate::estimate::usage_history::SAMPLED_CELLS;
use crate::rows::row::Row;

impl EstimateContext<'_> {
    /// Estimates the inputs that an earlier run measured, and learns from the difference how to correct other
    /// estimates.
    pub fn calibrate(&mut self) -> Result<(), EngineError> {
        if !self.usage_history.has_inputs() || self.resolver.given.is_some() {
            return Ok(());
        }
        let mut comparison = self.usage_history.new_comparison();
        let header = &self.plan.header;
        let rows = usize::try_from(SAMPLED_CELLS / header.cells_per_row().max(1)).unwrap_or(usize::MAX);
        // The walk over all rows reports broken rows.
        for sample in self.plan.rows().take(rows.max(1)).filter_map(Result::ok) {
            let row = Row::new(sample, &self.systems);
            let first = row.sample.row * header.cells_per_row();
            for ordinal in first..first + header.cells_per_row() {
                let (_, at, trial) = header.place(ordinal);
                let system = &self.systems.systems[at];
                let Ok(start) = self.start(&row, system, trial)? else { continue };
                let keys = self.keys(&row, system, trial, &start);
                let place = PlannedCell { row: &row, at, trial, system, keys: &keys };
                for (learned, expected) in
                    self.all_calls(&place, start).iter().filter_map(|needed| needed.expected_input())
                {
                    self.usage_history.compare(&mut comparison, learned, &row.sample.id, expected);
                }
            }
        }
        self.usage_history.apply_comparison(&comparison);
        Ok(())
    }
}
