//! Test rows that other texts hold: prompts, examples, training sets.
//!
//! ```text
//! texts in memory ─► index ─┐
//! texts that pass by ───────┴► finder ─ matches ─► report: hits, boilerplate
//! ```
//!
//! - `text.rs`: a text with its words
//! - `index.rs`: the phrases of the texts in memory
//! - `finder.rs` looks the phrases of every other text up; start reading there
//! - `report.rs` leaves boilerplate out, and keeps one hit for each row and text
//!
//! One side is held in memory, the smaller one: the prompts of a suite whose rows pass by, or the test rows that a large
//! corpus passes by. Matches are compared word by word, so that none is an estimate.

mod finder;
mod index;
mod report;
mod text;

pub use finder::{HeldSide, LeakFinder};
pub use report::{Boilerplate, LeakHit, LeakKind, Leaks};
pub use text::{LeakField, LeakText};

/// Words that a test text and another one share, from which on it is a leak.
pub(crate) const PHRASE: usize = 8;
/// The same for texts of more than [`LONG`] words.
pub(crate) const LONG_PHRASE: usize = 13;
pub(crate) const LONG: usize = 200;

/// A test text of fewer words than a phrase leaks as a whole, if it has so many words at least.
pub(crate) const SHORTEST: usize = 5;
/// Characters that a test text of few words has at least to leak as a whole.
pub(crate) const SHORTEST_CHARACTERS: usize = 20;

/// Characters of an answer of one or two words that a prompt states.
pub(crate) const ANSWER_CHARACTERS: usize = 12;
/// Words of an answer that needs no such length.
pub(crate) const ANSWER_WORDS: usize = 3;

/// Jaccard index of near duplicates.
pub(crate) const NEAR: f64 = 0.8;

/// Share of the test rows above which a phrase is boilerplate, and the number of rows that it must have in any case.
pub(crate) const COMMON_SHARE: f64 = 0.05;
pub(crate) const COMMON_ROWS: u32 = 5;
