//! The view index: of each cell of a run its status, system, sample, flags and one number for each metric, in plan
//! order. It holds no output and no reasoning; those are read for the cells that a page shows.
//!
//! - `columns`: the index and how it is read.
//! - `build`: rows to an index, in one pass.
//! - `ranks`: texts as numbers of the same order.
//! - `bytes`: the form in which the store keeps it.

mod build;
mod bytes;
mod columns;
mod ranks;

pub(crate) use build::{build, cost};
pub(crate) use bytes::{KIND, read, version_key, write};
pub use columns::{CellFlag, MetricColumn, Place, RunIndex};
pub(crate) use ranks::ranks;
