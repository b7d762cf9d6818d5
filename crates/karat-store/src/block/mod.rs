//! A block: the bytes that one commit adds to one run.
//!
//! `section` compresses entries (judgments, outputs, traces) and `section_cache` keeps decompressed sections in memory.
//! `key_place` is the place of a result with a content key. `call_log` records what calls mean for money and resume. `pack` has the primitives of every byte format; read it first.

pub(crate) mod call_log;
pub(crate) mod key_place;
pub(crate) mod pack;
pub(crate) mod section;
pub(crate) mod section_cache;
