//! The second pass: shingles of candidates, and their exact likeness.

use super::candidates::Candidates;
use super::frames::{CodedWord, coded_words};
use super::shingles::{Shingled, jaccard};

/// The shingles of a candidate, as the upper halves of their hashes: two that differ are the same once in four billion.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownText {
    words: Option<Box<[u32]>>,
    characters: Option<Box<[u32]>>,
    pub(crate) sequence: Box<[CodedWord]>,
}

impl KnownText {
    pub(crate) fn new(text: &str, cut: f64) -> Self {
        let Shingled { words, characters } = Shingled::new(text, cut);
        let sequence = coded_words(text);
        Self { words: words.map(|set| halves(&set)), characters: characters.map(|set| halves(&set)), sequence }
    }

    /// The Jaccard index of two texts: by word shingles if both have enough words, else by character shingles. 0 where the
    /// number of shingles rules the cut out.
    pub(crate) fn likeness(&self, other: &Self, cut: f64) -> f64 {
        match (&self.words, &other.words) {
            (Some(one), Some(other)) => jaccard(one, other, cut),
            _ => match (&self.characters, &other.characters) {
                (Some(one), Some(other)) => jaccard(one, other, cut),
                _ => 0.0,
            },
        }
    }
}

fn halves(set: &[u64]) -> Box<[u32]> {
    // The set is sorted, and so are the upper halves.
    let mut halves: Vec<u32> = set.iter().map(|hash| (hash >> 32) as u32).collect();
    halves.dedup();
    halves.into()
}

/// Compares candidates exactly, once their texts were added.
pub struct DuplicateVerifier {
    pub(crate) cut: f64,
    /// The order in which rows are looked at.
    pub(crate) rank: Vec<u32>,
    pub(crate) candidates: Candidates,
    /// Rows whose text is that of another row, with the row that is kept.
    pub(crate) equal: Vec<(u32, u32)>,
    pub(crate) textless: Vec<u32>,
    /// The text of each row, if it is in a pair.
    known: Vec<Option<Box<KnownText>>>,
    needed: Vec<bool>,
}

impl DuplicateVerifier {
    pub(crate) fn new(
        cut: f64,
        rank: Vec<u32>,
        candidates: Candidates,
        equal: Vec<(u32, u32)>,
        textless: Vec<u32>,
    ) -> Self {
        let mut needed = vec![false; rank.len()];
        for (row, others) in candidates.iter() {
            others.iter().chain([&row]).for_each(|it| needed[*it as usize] = true);
        }
        let known = vec![None; rank.len()];
        Self { cut, rank, candidates, equal, textless, known, needed }
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> u32 {
        self.rank.len() as u32
    }

    /// Returns whether the text of a row is needed in the second pass.
    pub fn needs(&self, row: u32) -> bool {
        self.needed.get(row as usize).copied().unwrap_or_default()
    }

    /// Adds the text of a row that is needed.
    pub fn add(&mut self, row: u32, text: &str) {
        if let Some(place) = self.known.get_mut(row as usize) {
            *place = Some(Box::new(KnownText::new(text, self.cut)));
        }
    }

    /// The text of a row that was added.
    pub(crate) fn known_text(&self, row: u32) -> Option<&KnownText> {
        self.known[row as usize].as_deref()
    }

    /// The exact likeness of two rows whose texts are known.
    pub(crate) fn likeness(&self, one: u32, other: u32) -> f64 {
        match (self.known_text(one), self.known_text(other)) {
            (Some(one), Some(other)) => one.likeness(other, self.cut),
            _ => 0.0,
        }
    }

    /// The pairs of rows with other texts whose likeness is at least the cut, with it: all of them where the candidates are
    /// those of [`Search::All`](super::Search::All).
    pub fn pairs(&self) -> Vec<(u32, u32, f64)> {
        let pairs = self.candidates.iter().flat_map(|(row, others)| others.iter().map(move |other| (*other, row)));
        let like = pairs.map(|(other, row)| (other, row, self.likeness(other, row)));
        like.filter(|(_, _, likeness)| *likeness >= self.cut).collect()
    }
}
