//! Outputs of a suite's last run, which `karat validate` checks paths against (D60).

use std::ops::ControlFlow;

use karat_suite::{LastOutputs, StoredOutputs};
use karat_types::{CellStatus, RunRows, VariantSpec};
use serde_json::Value;

use crate::AppError;
use crate::project::Project;

/// Number of outputs that are read.
const READ: usize = 200;

/// Number of runs that are looked at: one that checks judges has no outputs of its own.
const RUNS: usize = 5;

impl Project<'_> {
    /// Access to the outputs of the newest run that has any. A store that cannot be read gives none.
    pub(crate) fn last_outputs(&self) -> LastOutputs {
        let app = self.app.clone();
        LastOutputs::new(move |suite, variants| app.project().read_last_outputs(suite, variants).ok().flatten())
    }

    fn read_last_outputs(&self, suite: &str, variants: &[VariantSpec]) -> Result<Option<StoredOutputs>, AppError> {
        let store = self.app.existing_store()?;
        for run in store.runs_of_suite(suite, RUNS)? {
            let rows = store.rows(&run)?;
            let outputs = if rows.header().plan.run.measures_judges { Vec::new() } else { outputs(&rows, variants)? };
            if !outputs.is_empty() {
                return Ok(Some(StoredOutputs { run, outputs }));
            }
        }
        Ok(None)
    }
}

/// The first outputs of variants that are the same now.
fn outputs(rows: &dyn RunRows, variants: &[VariantSpec]) -> Result<Vec<Value>, AppError> {
    let plan = rows.header().plan.clone();
    let is_same = |system: usize| {
        let variant = plan.systems.get(system).and_then(|system| plan.variants.get(system.variant));
        variant.is_some_and(|variant| variants.contains(variant))
    };
    let mut cells = Vec::new();
    rows.for_each(&mut |row| {
        if row.cell.status == CellStatus::Ok && is_same(row.system) {
            cells.push(row.cell.ordinal);
        }
        if cells.len() < READ { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    let mut outputs = Vec::new();
    for cell in cells {
        outputs.extend(rows.output(cell)?);
    }
    Ok(outputs)
}
