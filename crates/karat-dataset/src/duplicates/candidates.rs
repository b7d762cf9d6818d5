//! Candidates: the rows that a row may resemble, by the buckets and sketches of their signatures.

use super::bands::{Banding, Buckets};
use super::minhash::{PERMUTATIONS, Sketch};

/// Which candidates of a row are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// The likeliest, for clusters: memory and time are proportional to the rows.
    Likeliest,
    /// All of them, for groups that tear no pair; of more than about 20,000 rows the likeliest, ever fewer.
    All,
}

/// The bounds of a search.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Entries of one bucket that an entry is held against, the nearest before it. A larger bucket is that of a common
    /// phrase: texts that are alike share others too.
    bucket: usize,
    /// Candidates of an entry that are kept, those whose sketches agree most.
    kept: usize,
}

impl Search {
    fn limits(self, entries: usize, bands: usize) -> Limits {
        const LIKELIEST: Limits = Limits { bucket: 32, kept: 32 };
        let share = |of: usize| of / (entries * bands).max(1);
        match self {
            Self::Likeliest => LIKELIEST,
            // At most two billion looks, and twenty million pairs.
            Self::All => Limits {
                bucket: share(2_000_000_000).max(LIKELIEST.bucket),
                kept: (20_000_000 / entries.max(1)).max(LIKELIEST.kept),
            },
        }
    }
}

/// The signatures of texts. An entry is a text cut in one way; entries are numbered in the order in which rows are looked
/// at.
#[derive(Debug)]
pub(crate) struct Signatures {
    pub cut: f64,
    pub banding: Banding,
    /// The row of each entry.
    pub rows: Vec<u32>,
    pub sketches: Vec<Sketch>,
    /// The keys of the entries, by band.
    pub keys: Vec<Vec<u32>>,
}

/// Pairs of rows that are to be compared.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// The rows that have candidates among the rows before them, with the end of these in `others`.
    rows: Vec<(u32, usize)>,
    others: Vec<u32>,
    /// Rows of which a text like theirs may have been passed over, because too many texts share their phrases.
    pub incomplete: Vec<u32>,
}

impl Candidates {
    pub fn find(signatures: Signatures, search: Search) -> Self {
        let Signatures { cut, banding, rows, sketches, keys } = signatures;
        let limits = search.limits(rows.len(), banding.bands);
        let least = Sketch::least_agreement(cut);
        let mut entries: Vec<Found> = vec![Found::default(); rows.len()];
        let mut near = Vec::new();
        for keys in keys {
            Buckets::new(&keys).for_each(&mut |bucket| {
                near.clear();
                near.extend(bucket.iter().map(|entry| sketches[*entry as usize]));
                for (at, entry) in bucket.iter().enumerate().skip(1) {
                    let first = at.saturating_sub(limits.bucket);
                    let found = &mut entries[*entry as usize];
                    found.bands_cut += u8::from(first > 0);
                    for (other, sketch) in bucket[first..at].iter().zip(&near[first..at]) {
                        if let Some(agreement) = near[at].agreement(sketch, least) {
                            found.add(agreement, *other, limits.kept);
                        }
                    }
                }
            });
        }
        let bands_needed = match search {
            Search::Likeliest => banding.bands_needed(cut),
            Search::All => banding.bands,
        };
        let mut candidates = Self::default();
        for (row, mut found) in rows.iter().zip(entries) {
            found.keep(limits.kept);
            let is_whole = !found.is_cut && banding.bands - usize::from(found.bands_cut) >= bands_needed;
            candidates.add(*row, found.others.iter().map(|it| rows[*it as u32 as usize]), is_whole);
        }
        candidates
    }

    /// Adds what was found for an entry. The entries of one row follow each other.
    fn add(&mut self, row: u32, others: impl Iterator<Item = u32>, is_whole: bool) {
        if !is_whole && self.incomplete.last() != Some(&row) {
            self.incomplete.push(row);
        }
        let before = self.others.len();
        self.others.extend(others.filter(|other| *other != row));
        match self.rows.last_mut() {
            _ if self.others.len() == before => {}
            Some((last, end)) if *last == row => *end = self.others.len(),
            _ => self.rows.push((row, self.others.len())),
        }
    }

    /// Each row that has candidates, in the order in which rows are looked at, with them, the likeliest first. A candidate
    /// that a row resembles in words and in characters is there twice.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let mut start = 0;
        self.rows.iter().map(move |(row, end)| (*row, &self.others[std::mem::replace(&mut start, *end)..*end]))
    }
}

/// The candidates of an entry.
#[derive(Debug, Clone, Default)]
struct Found {
    /// The places that differ and the entry, the former in the upper half.
    others: Vec<u64>,
    /// Bands of which not the whole bucket was looked at.
    bands_cut: u8,
    /// True if there were more than are kept.
    is_cut: bool,
}

impl Found {
    fn add(&mut self, agreement: u32, other: u32, kept: usize) {
        if self.others.len() >= 2 * kept {
            self.keep(kept);
        }
        self.others.push(u64::from(PERMUTATIONS as u32 - agreement) << 32 | u64::from(other));
    }

    /// Keeps each entry once, and the likeliest of them.
    fn keep(&mut self, kept: usize) {
        self.others.sort_unstable();
        self.others.dedup();
        self.is_cut |= self.others.len() > kept;
        self.others.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BC-03: the likeliest candidates are kept, each once, and it is known that there were more.
    #[test]
    fn the_likeliest_are_kept() {
        let mut found = Found::default();
        for band in 0..5 {
            (0..10).for_each(|other| found.add(90 + other % 5 + u32::from(other == 3), other, 3));
            assert_eq!(found.others.len() <= 6, band < 5);
        }
        found.keep(3);
        assert_eq!((found.others.iter().map(|it| *it as u32).collect::<Vec<_>>(), found.is_cut), (vec![3, 4, 9], true));
    }

    /// BC-03: a search for all pairs of few rows has no limit that they reach, and one of many is bounded.
    #[test]
    fn limits_follow_the_rows() {
        let limits = |rows| Search::All.limits(rows, 64);
        assert!(limits(5_000).bucket > 5_000 && limits(4_000).kept > 4_000);
        assert_eq!((limits(1_000_000).bucket, limits(1_000_000).kept), (32, 32));
        assert_eq!(limits(0).kept, 20_000_000);
    }
}
