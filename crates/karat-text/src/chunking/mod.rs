//! MAP: to be written.

pub mod chunk;
pub mod merge;
pub mod tokens;

