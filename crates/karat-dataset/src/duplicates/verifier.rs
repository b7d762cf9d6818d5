//! The second pass: shingles of candidates, and their exact likeness.

use rustc_hash::FxHashMap;

use super::bands::Buckets;
use super::shingles::{Shingled, jaccard};

/// The shingles of a candidate, as the upper halves of their hashes: two that differ are the same once in four billion.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownText {
    words: Option<Box<[u32]>>,
    characters: Option<Box<[u32]>>,
    pub(crate) sequence: Box<[u32]>,
}

impl KnownText {
    pub(crate) fn new(text: &str, cut: f64) -> Self {
        let Shingled { words, characters, sequence } = Shingled::new(text, cut);
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
    pub(crate) rows: u32,
    /// The row of each entry.
    entries: Vec<u32>,
    /// The entries of each row that has company.
    own: FxHashMap<u32, Vec<u32>>,
    buckets: Buckets,
    /// The order in which rows are looked at.
    pub(crate) rank: Vec<u32>,
    /// Rows whose text is that of another row, with the row that is kept.
    pub(crate) equal: Vec<(u32, u32)>,
    pub(crate) textless: Vec<u32>,
    pub(crate) known: FxHashMap<u32, KnownText>,
}

impl DuplicateVerifier {
    pub(crate) fn new(
        cut: f64,
        rows: u32,
        entries: Vec<u32>,
        buckets: Buckets,
        rank: Vec<u32>,
        equal: Vec<(u32, u32)>,
        textless: Vec<u32>,
    ) -> Self {
        let mut own: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (entry, row) in (0_u32..).zip(&entries) {
            if buckets.has_company(entry) {
                own.entry(*row).or_default().push(entry);
            }
        }
        Self { cut, rows, entries, own, buckets, rank, equal, textless, known: FxHashMap::default() }
    }

    /// Returns whether the text of a row is needed in the second pass.
    pub fn needs(&self, row: u32) -> bool {
        self.own.contains_key(&row)
    }

    /// Adds the text of a row that is needed.
    pub fn add(&mut self, row: u32, text: &str) {
        self.known.insert(row, KnownText::new(text, self.cut));
    }

    /// The rows that have candidates, in the order in which they are looked at.
    pub(crate) fn candidate_rows(&self) -> Vec<u32> {
        let mut rows: Vec<u32> = self.own.keys().copied().collect();
        rows.sort_unstable_by_key(|row| self.rank[*row as usize]);
        rows
    }

    /// Calls `found` with the rows before a row that share a bucket with it, once for each bucket. Returns whether a bucket
    /// held more than `limit` of them.
    pub(crate) fn earlier(&self, row: u32, limit: usize, found: &mut dyn FnMut(u32)) -> bool {
        let entries = self.own.get(&row).map(Vec::as_slice).unwrap_or_default();
        let mut has_more = false;
        for entry in entries {
            has_more |= self.buckets.earlier(*entry, limit, &mut |it| {
                let other = self.entries[it as usize];
                if other != row {
                    found(other);
                }
            });
        }
        has_more
    }

    /// The exact likeness of two rows whose texts are known.
    pub(crate) fn likeness(&self, one: u32, other: u32) -> f64 {
        match (self.known.get(&one), self.known.get(&other)) {
            (Some(one), Some(other)) => one.likeness(other, self.cut),
            _ => 0.0,
        }
    }

    /// All pairs of rows with other texts whose likeness is at least the cut, with it.
    pub fn pairs(&self) -> Vec<(u32, u32, f64)> {
        let mut pairs = Vec::new();
        let mut others = Vec::new();
        for row in self.candidate_rows() {
            others.clear();
            self.earlier(row, usize::MAX, &mut |other| others.push(other));
            others.sort_unstable();
            others.dedup();
            let like = others.iter().map(|other| (*other, row, self.likeness(*other, row)));
            pairs.extend(like.filter(|(_, _, likeness)| *likeness >= self.cut));
        }
        pairs
    }
}
