//! A run from its beginning to its end.
//!
//! - `execute` builds the [`context`](crate::cell::context) of a run, starts its services, and ends it.
//! - `scheduler` reads rows and hands their cells to workers, one group of workers for each list of models.
//! - `sample_writer` records each row before any of its cells.
//! - `progress` reports a cell to the observer once it is on disk.
//! - `cell_work` is a cell on its way to a worker.
//! - `feed` hands the cells of a run that may stop early to workers, at most `max_concurrency` units beyond the complete ones.
//!
//! Read `execute`, then `scheduler`; the workers call `cell::evaluate`.

pub(crate) mod cell_work;
pub(crate) mod execute;
mod feed;
pub(crate) mod progress;
pub(crate) mod sample_writer;
pub(crate) mod scheduler;
