//! A block: the bytes that one commit adds to one run.
//!
//! `section` compresses entries (judgments, outputs, traces) and `section_cache` keeps decompressed sections in memory.
//! `call_log` records what calls mean for money and resume. `pack` has the primitives of every byte format; read it first.

pub(crate) mod call_log;
pub(crate) mod pack;
pub(crate) mod section;
pub(crate) mod section_cache;
