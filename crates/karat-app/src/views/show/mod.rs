//! Cells of stored runs, as commands show them.
//!
//! - `runs` lists runs.
//! - `cells` are the cells of a run, `suite_cells` those of all runs of a suite, `history` a metric over runs.
//! - `trace` shows one cell, `calls` finds its calls.

pub(crate) mod calls;
pub(crate) mod cells;
pub(crate) mod history;
pub(crate) mod runs;
pub(crate) mod suite_cells;
pub(crate) mod trace;
