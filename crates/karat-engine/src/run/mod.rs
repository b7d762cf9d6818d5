//! A run from its beginning to its end.
//!
//! - `execute` builds the [`context`](crate::cell::context) of a run, starts its services, and ends it.
//! - `scheduler` reads rows and hands their cells to workers, one group of workers for each list of models.
//! - `sample_writer` records each row before any of its cells.
//! - `progress` reports a cell to the observer once it is on disk.
//! - `cell_work` is a cell on its way to a worker.
//! - `early/` runs rows in a seeded order and stops once a rule has decided.
//! - `remaining` knows what earlier parts of the run have left; `stop` is the signal that ends it.
//!
//! Read `execute`, then `scheduler`; the workers call `cell::evaluate`.

pub(crate) mod cell_work;
pub(crate) mod early;
pub(crate) mod execute;
pub(crate) mod progress;
pub(crate) mod remaining;
pub(crate) mod sample_writer;
pub(crate) mod scheduler;
pub(crate) mod stop;
