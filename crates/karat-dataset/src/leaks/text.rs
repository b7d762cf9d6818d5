//! A text that may have leaked, or may hold one that has.

use serde::Serialize;

use crate::hash::{HashedWord, hashed_words, join, mix};

/// The part of a row, or of a suite, that a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeakField {
    /// The input of a row.
    Input,
    /// The reference of a row.
    Reference,
    /// A prompt: one that states the answer leaks it.
    Prompt,
    /// An example, or any other text.
    Text,
}

/// A text with its words.
#[derive(Debug, Clone)]
pub struct LeakText {
    /// The number that the caller knows it by.
    pub number: u32,
    /// The part that it is.
    pub field: LeakField,
    pub(crate) text: String,
    pub(crate) words: Vec<HashedWord>,
}

impl LeakText {
    /// Cuts a text into words.
    pub fn new(number: u32, field: LeakField, text: impl Into<String>) -> Self {
        let text = text.into();
        let words = hashed_words(&text);
        Self { number, field, text, words }
    }

    /// The hashes of all sequences of `count` words, with their positions.
    pub(crate) fn phrases(&self, count: usize) -> impl Iterator<Item = (u32, u64)> {
        (0_u32..).zip(self.words.windows(count.max(1)).map(phrase))
    }

    /// The hash of the sequence of `count` words at a position.
    pub(crate) fn phrase_at(&self, from: usize, count: usize) -> Option<u64> {
        self.words.get(from..from + count).map(phrase)
    }

    /// The hash of all words.
    pub(crate) fn whole(&self) -> u64 {
        phrase(&self.words)
    }

    /// The text of some words, with what stands between them.
    pub(crate) fn passage(&self, from: usize, count: usize) -> &str {
        let words = self.words.get(from..from + count).unwrap_or_default();
        match (words.first(), words.last()) {
            (Some(first), Some(last)) => &self.text[first.place.start..last.place.end],
            _ => "",
        }
    }

    /// Characters of the words.
    pub(crate) fn characters(&self) -> usize {
        self.words.iter().map(|word| self.text[word.place.clone()].chars().count()).sum()
    }
}

fn phrase(words: &[HashedWord]) -> u64 {
    mix(words.iter().fold(words.len() as u64, |hash, word| join(hash, word.hash)))
}
