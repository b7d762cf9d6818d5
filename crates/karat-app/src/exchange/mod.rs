//! Results of other tools, of people and of other stores; prices.
//!
//! - `suite_import` makes suites of other tools' files.
//! - `span_snapshot` makes a suite of a span snapshot; `snapshot_check` computes its figures again.
//! - `manual_outputs` makes a suite of outputs that people produced by hand.
//! - `prices` adds prices to the known models.
//! - `traces` keeps what applications send.
//! - `merge` makes one run of shards that ran apart.
//! - `export/` writes runs in formats of other tools.
//! - `annotate` exports outputs to label, and joins the labels.

pub(crate) mod annotate;
pub(crate) mod export;
pub(crate) mod manual_outputs;
pub(crate) mod merge;
pub(crate) mod prices;
pub(crate) mod snapshot_check;
pub(crate) mod span_snapshot;
pub(crate) mod suite_import;
pub(crate) mod traces;
