//! Rows that are equal or nearly so.
//!
//! ```text
//! texts ─ 1st pass ─► finder ─ signatures ─► buckets ─► candidates ─ 2nd pass ─► verifier ─► clusters, pairs, groups
//! ```
//!
//! - `finder.rs`: the first pass; equal texts, and the signature of every other one
//! - `verifier.rs`: the second pass keeps the shingles of candidates only, and compares them exactly
//! - `clusters.rs`: the duplicates of each text that is kept; start reading there
//! - `groups.rs`: texts that belong together, directly or through others
//! - `frames.rs` tells a text that fills the same frame from a duplicate
//! - `candidates.rs`: the pairs that are compared; `shingles.rs`, `minhash.rs`, `bands.rs`: how they are found
//! - `word_diff.rs`: the words in which two texts differ
//!
//! Candidates are verified by exact Jaccard index, so what is reported is never an estimate. A text joins a cluster only
//! if it resembles the text that stands for it: chains of likeness join nothing (marin #6854).

pub(crate) mod bands;
mod candidates;
mod clusters;
mod finder;
mod frames;
mod groups;
pub(crate) mod minhash;
pub(crate) mod shingles;
mod verifier;
mod word_diff;

pub use candidates::Search;
pub use clusters::{Cluster, Duplicates, Frame, Likeness, Member};
pub use finder::{DuplicateFinder, Preference};
pub use groups::TextGroups;
pub use verifier::DuplicateVerifier;
use verifier::KnownText;
pub use word_diff::{DiffPart, diff_text, word_diff};

/// The duplicates among texts that are all in memory.
pub fn find_duplicates<T: AsRef<str>>(texts: &[T], cut: f64) -> Duplicates {
    verifier_of(texts, cut, Search::Likeliest).clusters()
}

/// The Jaccard index of two texts; 0 where their sizes rule the cut out.
pub fn likeness_of(one: &str, other: &str, cut: f64) -> f64 {
    KnownText::new(one, cut).likeness(&KnownText::new(other, cut), cut)
}

/// A verifier over texts that are all in memory.
pub fn verifier_of<T: AsRef<str>>(texts: &[T], cut: f64, search: Search) -> DuplicateVerifier {
    let mut finder = DuplicateFinder::new(cut);
    texts.iter().for_each(|text| finder.add(Some(text.as_ref()), Preference::default()));
    let mut verifier = finder.into_verifier(search);
    for (row, text) in (0_u32..).zip(texts) {
        if verifier.needs(row) {
            verifier.add(row, text.as_ref());
        }
    }
    verifier
}
