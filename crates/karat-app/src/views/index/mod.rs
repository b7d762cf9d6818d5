//! The view index: of each cell of a run its status, system, sample, flags and one number for each metric, in plan
//! order. It holds no output and no reasoning; those are read for the cells that a page shows.
//!
//! - `columns`: the index and how it is read.
//! - `build`: rows to an index, in one pass, and the form in which the store keeps it.

mod build;
mod columns;

pub(crate) use build::{KIND, build, cost, read, version_key, write};
pub(crate) use columns::ranks;
pub use columns::{CellFlag, MetricColumn, Place, RunIndex};
