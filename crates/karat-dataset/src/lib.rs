//! Makes test sets that can be trusted.
//!
//! Nothing here reads a suite, a store or a clock: every function takes rows and texts, and returns what it found.
//!
//! - `row_text.rs` says what the text of a row is, `hash.rs` hashes its words
//! - `duplicates/` finds rows that are equal or nearly so; read it first
//! - `leaks/` finds test rows in prompts, examples and other corpora
//! - `sample/` draws rows, `split/` puts whole groups of rows into parts
//! - `version.rs` hashes rows and sets of them, `rows_diff.rs` compares two sets, `manifest.rs` is the file beside a set,
//!   `datasheet.rs` describes it to readers

pub mod datasheet;
pub mod duplicates;
mod hash;
pub mod leaks;
pub mod manifest;
mod row_text;
pub mod rows_diff;
pub mod sample;
pub mod split;
pub mod version;

pub use row_text::{row_text, value_text};
