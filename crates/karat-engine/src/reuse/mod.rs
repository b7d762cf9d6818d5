//! Results that exist already, and why others do not count.
//!
//! - `identity` computes content keys, out of the named parts in `identity_parts`.
//! - `resolver` decides what exists of a cell: for `plan` (`estimate`), for `why` (`reuse_report`) and for the run (`cell`).
//! - `history` finds a cell in the last runs of the suite; `reuse_report` compares it with the cell of today.
//! - `peer_runs` waits for results that other processes are making.
//!
//! Read `identity`, then `resolver`.

pub(crate) mod history;
pub(crate) mod identity;
pub(crate) mod identity_parts;
pub(crate) mod peer_runs;
pub(crate) mod resolver;
pub(crate) mod reuse_report;
