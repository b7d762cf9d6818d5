//! Files of other tools, snapshots, traces, shards of runs; prices.
//!
//! - `suite_import` makes suites of other tools' files.
//! - `span_snapshot` makes a suite of a span snapshot; `snapshot_check` computes its figures again.
//! - `manual_outputs` makes a suite of outputs that people produced by hand.
//! - `prices` adds prices to the known models.
//! - `traces` keeps what applications send.
//! - `merge` makes one run of shards that ran apart.

pub(crate) mod manual_outputs;
pub(crate) mod merge;
pub(crate) mod prices;
pub(crate) mod snapshot_check;
pub(crate) mod span_snapshot;
pub(crate) mod suite_import;
pub(crate) mod traces;

use crate::App;

/// Files of other tools, snapshots, traces, shards of runs; prices.
#[derive(Clone, Copy)]
pub struct Imports<'a> {
    pub(crate) app: &'a App,
}
