//! Long texts and lists in pieces.
//!
//! `tokens` counts tokens, `chunk` cuts by tokens or items, `merge` makes one output of the pieces' outputs.

pub mod chunk;
pub mod merge;
pub mod tokens;
