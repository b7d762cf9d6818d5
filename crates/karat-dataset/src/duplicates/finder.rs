//! The first pass: equal texts, and signatures of all others.

use std::collections::hash_map::Entry;

use karat_text::similar::fold;
use rustc_hash::FxHashMap;

use super::bands::Banding;
use super::candidates::{Candidates, Search, Signatures};
use super::minhash::{MinHash, Sketch};
use super::shingles::Shingled;
use super::verifier::DuplicateVerifier;

/// Forms of shingles, which share no bucket.
pub(crate) const WORD_FORM: u64 = 1;
pub(crate) const CHARACTER_FORM: u64 = 2;

/// The rank of a row among its duplicates: the lowest one is kept, and the earliest of those.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Preference(u32);

impl Preference {
    /// A longer text comes first.
    pub fn longest(text: &str) -> Self {
        Self(u32::MAX - u32::try_from(text.chars().count()).unwrap_or(u32::MAX))
    }

    /// A row that has a reference comes first.
    pub fn of_reference<T>(reference: Option<&T>) -> Self {
        Self(u32::from(reference.is_none()))
    }
}

/// Rows that are added in order; memory holds 48 bytes a text, and 4 for each of its bands.
pub struct DuplicateFinder {
    cut: f64,
    banding: Banding,
    minhash: MinHash,
    /// The first row of each text.
    exact: FxHashMap<[u8; 16], u32>,
    /// Rows that repeat a text, with its first row.
    repeated: Vec<(u32, u32)>,
    preferences: Vec<Preference>,
    textless: Vec<u32>,
    /// The row of each entry; a text that is cut in both ways has two.
    entries: Vec<u32>,
    sketches: Vec<Sketch>,
    /// The keys of the entries, by band.
    keys: Vec<Vec<u32>>,
}

impl DuplicateFinder {
    /// A finder of texts whose Jaccard index is at least `cut`, from 0.1 to 1.
    pub fn new(cut: f64) -> Self {
        let cut = cut.clamp(0.1, 1.0);
        let banding = Banding::of_cut(cut);
        Self {
            cut,
            banding,
            minhash: MinHash::new(),
            exact: FxHashMap::default(),
            repeated: Vec::new(),
            preferences: Vec::new(),
            textless: Vec::new(),
            entries: Vec::new(),
            sketches: Vec::new(),
            keys: vec![Vec::new(); banding.bands],
        }
    }

    /// Adds the next row. One without a text is not a duplicate of anything.
    pub fn add(&mut self, text: Option<&str>, preference: Preference) {
        let row = self.preferences.len() as u32;
        self.preferences.push(preference);
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
            self.textless.push(row);
            return;
        };
        match self.exact.entry(identity(text)) {
            Entry::Occupied(first) => return self.repeated.push((row, *first.get())),
            Entry::Vacant(place) => place.insert(row),
        };
        let shingled = Shingled::new(text, self.cut);
        for (set, form) in [(shingled.words, WORD_FORM), (shingled.characters, CHARACTER_FORM)] {
            let Some(set) = set else { continue };
            let signature = self.minhash.sign(&set);
            self.entries.push(row);
            self.sketches.push(Sketch::of_signature(&signature));
            self.keys.iter_mut().zip(self.banding.keys(&signature, form)).for_each(|(keys, key)| keys.push(key));
        }
    }

    /// The number of rows so far.
    pub fn rows(&self) -> u32 {
        self.preferences.len() as u32
    }

    /// Ends the first pass.
    pub fn into_verifier(self, search: Search) -> DuplicateVerifier {
        let Self { cut, banding, exact, repeated, preferences, textless, mut entries, sketches, keys, .. } = self;
        drop(exact);
        let rows = preferences.len() as u32;
        let is_before = |one: u32, other: u32| (preferences[one as usize], one) < (preferences[other as usize], other);
        // Of equal texts, the preferred row stands for all.
        let mut kept: FxHashMap<u32, u32> = FxHashMap::default();
        for (row, first) in &repeated {
            let best = kept.entry(*first).or_insert(*first);
            if is_before(*row, *best) {
                *best = *row;
            }
        }
        let standing = |row: u32| kept.get(&row).copied().unwrap_or(row);
        entries.iter_mut().for_each(|row| *row = standing(*row));
        let mut equal = Vec::with_capacity(repeated.len());
        for (row, first) in repeated {
            let kept = standing(first);
            if kept != row {
                equal.push((row, kept));
            }
        }
        equal.extend(kept.iter().filter(|(first, kept)| first != kept).map(|(first, kept)| (*first, *kept)));
        equal.sort_unstable();
        let mut order: Vec<u32> = (0..rows).collect();
        order.sort_by_key(|row| (preferences[*row as usize], *row));
        let mut rank = vec![0; rows as usize];
        (0..).zip(&order).for_each(|(at, row)| rank[*row as usize] = at);
        let mut by_rank: Vec<u32> = (0..entries.len() as u32).collect();
        by_rank.sort_by_key(|entry| rank[entries[*entry as usize] as usize]);
        let signatures = Signatures {
            cut,
            banding,
            rows: in_order(&entries, &by_rank),
            sketches: in_order(&sketches, &by_rank),
            keys: keys.into_iter().map(|keys| in_order(&keys, &by_rank)).collect(),
        };
        DuplicateVerifier::new(cut, rank, Candidates::find(signatures, search), equal, textless)
    }
}

fn in_order<T: Copy>(values: &[T], order: &[u32]) -> Vec<T> {
    order.iter().map(|at| values[*at as usize]).collect()
}

/// The identity of a text without case, white space and composition of accents.
fn identity(text: &str) -> [u8; 16] {
    let hash = blake3::hash(fold(text).as_bytes());
    let mut identity = [0; 16];
    identity.copy_from_slice(&hash.as_bytes()[..16]);
    identity
}
