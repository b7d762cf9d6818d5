//! Lines of single cells: all of them, or the first failures.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use karat_types::{CellProgress, CellStatus, Event};

use super::Detail;
use super::cell_line::CellLine;
use super::plan_order::{PlanOrder, Print};

/// Failed cells that get a line of their own; further ones are counted.
const FAILURES: u64 = 5;

/// Prints lines of cells.
pub struct Cells {
    detail: Detail,
    /// The suite's `run.cell_line`, once the run has started.
    format: OnceLock<Option<String>>,
    failures: AtomicU64,
    /// The messages of errors that lines have told.
    told: Mutex<BTreeSet<String>>,
    lines: PlanOrder,
    print: Print,
}

impl Cells {
    pub fn new(detail: Detail, print: Print) -> Self {
        let lines = PlanOrder::new(print.clone());
        Self { detail, format: OnceLock::new(), failures: AtomicU64::new(0), told: Mutex::default(), lines, print }
    }

    /// Prints what an event asks for.
    pub fn on_event(&self, event: &Event<'_>) {
        match event {
            Event::Started { cell_line, .. } => {
                let _ = self.format.set(cell_line.map(str::to_owned));
            }
            Event::CellFinished(cell) => self.print_cell(cell),
            Event::Finished { .. } => self.end(),
            Event::Warning(_) | Event::Notice(_) | Event::Retrying { .. } | Event::CallEnded(_) => {}
        }
    }

    /// Prints the lines that still wait.
    pub fn end(&self) {
        self.lines.end();
    }

    /// Returns whether each cell gets a line.
    pub fn is_complete(&self) -> bool {
        self.detail == Detail::Cells || self.format().is_some()
    }

    fn format(&self) -> Option<&str> {
        self.format.get().and_then(Option::as_deref)
    }

    /// Returns whether a line has told the error of a cell, and notes it otherwise.
    fn is_told(&self, cell: &CellProgress<'_>) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        cell.error.is_some_and(|error| !told.insert(error.message.clone()))
    }

    fn print_cell(&self, cell: &CellProgress<'_>) {
        if self.is_complete() {
            return self.lines.print(cell.ordinal, cell.done, CellLine::new(cell, self.format()));
        }
        if cell.status != CellStatus::Error {
            return;
        }
        match self.failures.fetch_add(1, Ordering::Relaxed) {
            before if before < FAILURES => {
                let line = if self.is_told(cell) { CellLine::of_told_error(cell) } else { CellLine::new(cell, None) };
                (self.print)(&line.text(cell.done));
            }
            FAILURES => {
                (self.print)("further failed cells are only counted; `karat show --status error` lists all of them")
            }
            _ => {}
        }
    }
}
