//! What an earlier run has shown of inputs, against what is expected of the same ones.

use super::ground::{Ground, Place};
use crate::EngineError;
use crate::lengths::LOOKED_AT;
use crate::row::Row;

impl Ground<'_> {
    /// Estimates the inputs that were looked at in an earlier run: how the two differ is how others will.
    pub fn calibrate(&mut self) -> Result<(), EngineError> {
        if !self.lengths.knows_inputs() || self.resolver.given.is_some() {
            return Ok(());
        }
        let mut comparison = self.lengths.comparison();
        let header = &self.plan.header;
        let rows = usize::try_from(LOOKED_AT / header.cells_per_row().max(1)).unwrap_or(usize::MAX);
        // What is wrong with a row is told where it is walked over.
        for sample in self.plan.rows().take(rows.max(1)).filter_map(Result::ok) {
            let row = Row::new(sample, &self.systems);
            let first = row.sample.row * header.cells_per_row();
            for ordinal in first..first + header.cells_per_row() {
                let (_, at, trial) = header.place(ordinal);
                let system = &self.systems.systems[at];
                let Ok(start) = self.start(&row, system, trial)? else { continue };
                let keys = self.keys(&row, system, trial, &start);
                let place = Place { row: &row, at, trial, system, keys: &keys };
                for (learned, expected) in self.all(&place, start).iter().filter_map(|needed| needed.expected_input()) {
                    self.lengths.compare(&mut comparison, learned, &row.sample.id, expected);
                }
            }
        }
        self.lengths.go_by(&comparison);
        Ok(())
    }
}
