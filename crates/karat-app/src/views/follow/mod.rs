//! Watching a run, of this or another process, by the rows that it writes.
//!
//! - `follower` reads what was added since its last look; `counter` knows from that which cells are finished.
//! - `progress` is how far a run is; `speed` says from earlier looks how long the rest takes.
//! - `run_state` is a run in one object, as the HTTP API shows it.

pub(crate) mod counter;
pub(crate) mod follower;
pub(crate) mod progress;
pub(crate) mod run_state;
mod speed;
