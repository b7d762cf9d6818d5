//! The similarity of two texts.
//!
//! Here are folding, the similarity of words, and the nearest name. `statement` is the rule by which two texts are one;
//! read it first. `words` cuts a text into words and tells what they decide, by the lists of `lexicon`.

mod lexicon;
mod statement;
mod words;

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

pub use lexicon::WordKind;
pub use statement::{ComparedWord, Difference, Statement, differences, tell_apart};
pub use words::{Word, kinds, words};

/// Returns the similarity of two texts, from 0 (no word in common) to 1 (equal once case and white space are folded).
///
/// Both are cut into words and single punctuation marks; the longest common subsequence of those, weighted by length in
/// characters, is set in relation to both texts: `2 · common / (a + b)`. Symmetric. Two empty texts are equal.
pub fn similarity(a: &str, b: &str) -> f64 {
    Folded::new(a).similarity(&Folded::new(b))
}

/// A text prepared for many comparisons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded {
    text: String,
    words: Vec<Range<usize>>,
    weight: usize,
}

impl Folded {
    /// Folds case and white space, and finds the words.
    pub fn new(text: &str) -> Self {
        let text = fold(text);
        let words = tokens(&text);
        let weight = words.iter().map(|word| text[word.clone()].chars().count()).sum();
        Self { text, words, weight }
    }

    /// The text with case and white space folded: what "equal" compares.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The words and punctuation marks.
    pub fn words(&self) -> impl ExactSizeIterator<Item = &str> {
        self.words.iter().map(|word| &self.text[word.clone()])
    }

    /// See [`similarity`].
    pub fn similarity(&self, other: &Self) -> f64 {
        if self.text == other.text {
            return 1.0;
        }
        let total = self.weight + other.weight;
        if total == 0 {
            return 0.0;
        }
        (2.0 * self.common(other) as f64 / total as f64).min(1.0)
    }

    /// True if the similarity is at least `threshold`. Cheaper than computing it where lengths rule it out.
    pub fn is_similar(&self, other: &Self, threshold: f64) -> bool {
        let (less, more) = (self.weight.min(other.weight), self.weight.max(other.weight));
        let best = if more == 0 { 1.0 } else { 2.0 * less as f64 / (less + more) as f64 };
        best >= threshold && self.similarity(other) >= threshold
    }

    /// Weight of the longest common subsequence of words, in one row of memory.
    fn common(&self, other: &Self) -> usize {
        let mut row = vec![0; other.words.len() + 1];
        for word in self.words() {
            let weight = word.chars().count();
            let mut diagonal = 0;
            for (at, candidate) in other.words().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if candidate == word { diagonal + weight } else { above.max(row[at]) };
                diagonal = above;
            }
        }
        row.last().copied().unwrap_or(0)
    }
}

/// Lower case, every run of white space one space, none at the ends, accented letters composed (NFC).
pub fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let composed = is_nfc_quick(text.chars()) == IsNormalized::Yes;
    let text = if composed { Cow::Borrowed(text) } else { Cow::Owned(text.nfc().collect()) };
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.extend(word.chars().flat_map(char::to_lowercase));
    }
    folded
}

fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut inside = false;
    for (at, character) in text.char_indices() {
        let end = at + character.len_utf8();
        match words.last_mut() {
            Some(word) if inside && character.is_alphanumeric() => word.end = end,
            _ if !character.is_whitespace() => words.push(at..end),
            _ => {}
        }
        inside = character.is_alphanumeric();
    }
    words
}

/// The candidate that `word` was most likely meant to be: fewest edits, at most a third of its length. Ties go to the
/// first.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let allowed = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (edits(&word, &candidate.to_lowercase()), candidate))
        .filter(|(edits, _)| *edits <= allowed)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Edits (insert, delete, replace, swap neighbours) between two words.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replaced = above[j] + usize::from(a[i] != b[j]);
            let mut best = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "equal texts give exactly 1, disjoint ones exactly 0")]
mod tests {
    use super::*;

    /// RG-07: a name is the same, composed and decomposed.
    #[test]
    fn folding_composes_accents() {
        assert_eq!(fold("Jo\u{308}rg  MASS"), fold("Jörg mass"));
    }

    #[test]
    fn one_means_equal_after_folding() {
        assert_eq!(similarity("The  Cat\nsat", "the cat sat"), 1.0);
        assert_eq!(similarity("", " "), 1.0);
        assert!(similarity("a beats b", "b beats a") < 1.0);
        assert_eq!(similarity("tides", "mountains"), 0.0);
    }

    #[test]
    fn punctuation_weighs_little() {
        assert!(similarity("The moon pulls the sea.", "The moon pulls the sea") > 0.95);
    }

    #[test]
    fn similarity_is_symmetric() {
        let pairs = [("a b c d", "b d a"), ("x", ""), ("one two", "two one three")];
        for (a, b) in pairs {
            assert_eq!(similarity(a, b), similarity(b, a));
        }
    }

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        assert_eq!(nearest("titel", ["url", "title", "text"]), Some("title"));
        assert_eq!(nearest("zebra", ["url", "title"]), None);
    }
}
