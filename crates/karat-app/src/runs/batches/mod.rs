//! Runs whose calls go by their providers' batch APIs.
//!
//! - `passes` repeats a run until nothing waits for a batch: it submits what a pass collects, waits, and reads the results.
//! - `cancel` ends batches early.
//!
//! Read `passes`; `runs::execution` calls it.

pub(crate) mod cancel;
pub(crate) mod passes;
