//! Looking at stored runs and at what later runs would reuse.
//!
//! - `runs` lists runs and cells, `trace` the calls of one cell, `history` a metric over runs.
//! - `why` explains what a run would reuse; `invalidate` takes results out of reuse.
//! - `store_check` reads all of the store and reports damage.
//! - `address` resolves the names of cells.

pub(crate) mod address;
pub(crate) mod history;
pub(crate) mod invalidate;
pub(crate) mod runs;
pub(crate) mod store_check;
pub(crate) mod trace;
pub(crate) mod why;
