//! Progress of a run on stderr.
//!
//! - `terminal`: a bar that is redrawn, on a terminal
//! - `log`: a line every few seconds, elsewhere
//! - `status`: the counts, spending and remaining time that both show
//! - `cells`: a line for each cell, with `--verbose` or `run.cell_line`; `cell_line` formats it, `plan_order` sorts it

mod cell_line;
mod cells;
mod log;
mod plan_order;
mod status;
mod terminal;
mod ticker;

use std::sync::Arc;

use karat_types::{Event, Observer};

use crate::printer::Printer;

/// The amount of a run's progress that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Warnings only.
    Quiet,
    /// Counts, and the first failures.
    Summary,
    /// A line for each cell.
    Cells,
}

/// Returns the observer that shows progress on stderr.
pub fn observer(printer: Printer, detail: Detail) -> Arc<dyn Observer> {
    match detail {
        Detail::Quiet => Arc::new(WarningsOnly(printer)),
        Detail::Summary | Detail::Cells if printer.interactive => Arc::new(terminal::Terminal::new(printer, detail)),
        Detail::Summary | Detail::Cells => Arc::new(log::Log::new(printer, detail)),
    }
}

struct WarningsOnly(Printer);

impl Observer for WarningsOnly {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::Warning(text) = event {
            self.0.say(&format!("warning: {text}"));
        }
    }
}
