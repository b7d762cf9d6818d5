//! The write path: records become durable here.
//!
//! Read in this order: `ledger` is what a run calls; `format::encode` turns its records into rows and section entries in
//! the caller's thread; `writer` is the single thread that commits them in groups, `server_rows` makes one statement of a block for a
//! server. `journal` writes facts about suites, and `merge/` copies the shards of a run from
//! other stores.

pub(crate) mod journal;
pub(crate) mod ledger;
pub(crate) mod merge;
mod server_rows;
pub(crate) mod writer;
