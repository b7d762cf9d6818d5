//! Looking at stored runs and at what later runs would reuse.
//!
//! - `runs` lists runs, `cells` the cells of one, `suite_cells` those of all runs of a suite, `history` a metric over runs.
//! - `figures` are the verdict and the headline of a run, which the store keeps.
//! - `trace` shows one cell, `calls` finds its calls; `messages` reads their requests and replies.
//! - `why` explains what a run would reuse; `invalidate` takes results out of reuse.
//! - `store_check` reads all of the store and reports damage.
//! - `doctor` checks the environment.
//! - `address` resolves the names of cells.

pub(crate) mod address;
pub(crate) mod calls;
pub(crate) mod cells;
pub(crate) mod doctor;
pub(crate) mod figures;
pub(crate) mod history;
pub(crate) mod invalidate;
pub(crate) mod messages;
pub(crate) mod runs;
pub(crate) mod store_check;
pub(crate) mod suite_cells;
pub(crate) mod trace;
pub(crate) mod why;
