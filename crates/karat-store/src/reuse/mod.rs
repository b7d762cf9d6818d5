//! Reuse of results across runs: content key → place of an output or a judgment.
//!
//! `known_keys` answers look-ups from memory, `key_filter` rejects absent keys, and `index_writer` moves keys into the SQLite
//! index. `reuse_view` applies the rules of one run (its own results, and others' up to an age) on top of it. `invalidate`
//! removes results from reuse; `shared_results` decides which of them other runs still need. `prune` removes old ones.
//! `paid_elsewhere` finds single calls that other runs have paid for.
//! `vectors` and `blobs` are found by content, too: embeddings, and images and files that were sent.

pub(crate) mod blobs;
pub(crate) mod index_writer;
pub(crate) mod invalidate;
pub(crate) mod key_filter;
pub(crate) mod known_keys;
pub(crate) mod paid_elsewhere;
pub(crate) mod prune;
pub(crate) mod reuse_view;
pub(crate) mod shared_results;
pub(crate) mod vectors;
