//! Stored runs in the formats of other tools.
//!
//! - `inspect`: logs that Inspect opens (IO-11)
//! - `parquet`: tables for DuckDB, polars, pandas (IO-12)

mod inspect;
mod parquet;

use std::ops::ControlFlow;
use std::path::PathBuf;

use karat_store::StoredRun;
use karat_types::{CellRow, RunRows};

use crate::AppError;

/// Files that an export wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedFiles {
    /// The files.
    pub files: Vec<PathBuf>,
    /// Cells in them.
    pub cells: u64,
}

/// Calls `each` for every cell of a run, in plan order, until it fails.
fn for_each_cell(
    run: &StoredRun,
    mut each: impl FnMut(&CellRow<'_>) -> Result<(), AppError>,
) -> Result<(), AppError> {
    let mut failed = None;
    run.for_each(&mut |row| match each(&row) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    })?;
    failed.map_or(Ok(()), Err)
}
