//! Results that exist already, and why others do not count.
//!
//! - `resolver` decides what exists of a cell: for `plan` (`estimate`), for `why` (`reuse_report`) and for the run (`cell`).
//! - `history` finds a cell in the last runs of the suite; `reuse_report` compares it with the cell of today.
//! - `remaining` knows what earlier parts of a run have left; `peer_runs` waits for results that other processes are making.
//!
//! Read `resolver`.

pub(crate) mod history;
pub(crate) mod peer_runs;
pub(crate) mod remaining;
pub(crate) mod resolver;
pub(crate) mod reuse_report;
