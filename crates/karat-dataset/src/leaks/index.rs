//! The phrases of the texts that are held in memory.

use karat_text::similar::fold;
use rustc_hash::FxHashMap;

use super::text::{LeakField, LeakText};
use super::{ANSWER_CHARACTERS, ANSWER_WORDS, NEAR, PHRASE, SHORTEST, SHORTEST_CHARACTERS};
use crate::duplicates::bands::Banding;
use crate::duplicates::minhash::MinHash;
use crate::duplicates::shingles::{FEW_WORDS, character_set, jaccard};

/// Phrases of the held texts, sorted by hash.
pub(super) struct PhraseIndex {
    /// Hash, text and position of each phrase.
    phrases: Vec<(u64, u32, u32)>,
}

impl PhraseIndex {
    pub fn new(texts: &[LeakText]) -> Self {
        let mut phrases = Vec::new();
        for (at, text) in (0_u32..).zip(texts) {
            phrases.extend(text.phrases(PHRASE).map(|(position, hash)| (hash, at, position)));
        }
        phrases.sort_unstable();
        Self { phrases }
    }

    /// The places of a phrase: text and position.
    pub fn places(&self, hash: u64) -> &[(u64, u32, u32)] {
        let start = self.phrases.partition_point(|(other, ..)| *other < hash);
        let rest = &self.phrases[start..];
        &rest[..rest.iter().take_while(|(other, ..)| *other == hash).count()]
    }

    /// The number of texts that hold each phrase, of those that more than one holds.
    pub fn frequencies(&self, number: impl Fn(u32) -> u32) -> FxHashMap<u64, u32> {
        let mut counts = FxHashMap::default();
        for same in self.phrases.chunk_by(|one, other| one.0 == other.0).filter(|same| same.len() > 1) {
            let mut rows: Vec<u32> = same.iter().map(|(_, text, _)| number(*text)).collect();
            rows.dedup();
            counts.insert(same[0].0, rows.len() as u32);
        }
        counts
    }
}

/// Texts by their whole content.
#[derive(Default)]
pub(super) struct WholeIndex {
    equal: FxHashMap<blake3::Hash, Vec<u32>>,
    /// Sequences of few words: of the test texts each as a whole, or of the others all that they hold.
    short: FxHashMap<u64, Vec<(u32, u32)>>,
    near: Option<NearIndex>,
}

impl WholeIndex {
    pub fn of_tests(texts: &[LeakText]) -> Self {
        let mut index = Self::of_all(texts);
        for (at, text) in (0_u32..).zip(texts).filter(|(_, text)| may_leak_whole(text)) {
            index.short.entry(text.whole()).or_default().push((at, 0));
        }
        index
    }

    pub fn of_others(texts: &[LeakText]) -> Self {
        let mut index = Self::of_all(texts);
        for (at, text) in (0_u32..).zip(texts) {
            let shortest = if text.field == LeakField::Prompt { 1 } else { SHORTEST };
            for count in shortest..PHRASE {
                for (position, hash) in text.phrases(count) {
                    index.short.entry(hash).or_default().push((at, position));
                }
            }
        }
        index
    }

    fn of_all(texts: &[LeakText]) -> Self {
        let mut index = Self { near: Some(NearIndex::new(texts)), ..Self::default() };
        for (at, text) in (0_u32..).zip(texts).filter(|(_, text)| !text.words.is_empty()) {
            index.equal.entry(identity(text)).or_default().push(at);
        }
        index
    }

    /// The texts that are equal once case and white space are folded.
    pub fn equal(&self, text: &LeakText) -> &[u32] {
        self.equal.get(&identity(text)).map(Vec::as_slice).unwrap_or_default()
    }

    /// The texts, with positions, that hold or are a sequence of few words.
    pub fn short(&self, hash: u64) -> &[(u32, u32)] {
        self.short.get(&hash).map(Vec::as_slice).unwrap_or_default()
    }

    /// The texts of few words that nearly equal one of few words.
    pub fn near(&self, text: &LeakText) -> Vec<(u32, f64)> {
        self.near.as_ref().map(|near| near.find(text)).unwrap_or_default()
    }
}

/// Returns whether a test text of few words leaks where another text holds it as a whole. A short answer, such as a label,
/// is in many texts by chance.
pub(super) fn may_leak_whole(text: &LeakText) -> bool {
    let (count, characters) = (text.words.len(), text.characters());
    let is_telling = match text.field {
        LeakField::Reference => count >= ANSWER_WORDS || characters >= ANSWER_CHARACTERS,
        LeakField::Input | LeakField::Prompt | LeakField::Text => {
            count >= SHORTEST && characters >= SHORTEST_CHARACTERS
        }
    };
    (1..PHRASE).contains(&count) && is_telling
}

fn identity(text: &LeakText) -> blake3::Hash {
    blake3::hash(fold(&text.text).as_bytes())
}

/// Texts of few words by bands of their signatures. Longer ones that are nearly equal share a phrase.
struct NearIndex {
    minhash: MinHash,
    banding: Banding,
    buckets: FxHashMap<(u32, u32), Vec<u32>>,
    sets: FxHashMap<u32, Box<[u64]>>,
}

impl NearIndex {
    fn new(texts: &[LeakText]) -> Self {
        let banding = Banding::of_cut(NEAR);
        let mut index =
            Self { minhash: MinHash::new(), banding, buckets: FxHashMap::default(), sets: FxHashMap::default() };
        for (at, text) in (0_u32..).zip(texts).filter(|(_, text)| has_few_words(text)) {
            let set = character_set(&text.text);
            for key in index.keys(&set) {
                index.buckets.entry(key).or_default().push(at);
            }
            index.sets.insert(at, set);
        }
        index
    }

    fn keys(&self, set: &[u64]) -> Vec<(u32, u32)> {
        (0..).zip(self.banding.keys(&self.minhash.sign(set), 0)).collect()
    }

    fn find(&self, text: &LeakText) -> Vec<(u32, f64)> {
        if self.sets.is_empty() || !has_few_words(text) {
            return Vec::new();
        }
        let set = character_set(&text.text);
        let mut found: Vec<u32> = self.keys(&set).iter().filter_map(|key| self.buckets.get(key)).flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        let likeness = |at: u32| Some((at, jaccard(self.sets.get(&at)?, &set, NEAR)));
        found.into_iter().filter_map(likeness).filter(|(_, likeness)| *likeness >= NEAR).collect()
    }
}

/// Returns whether a text is compared by characters: one of three words at least, since two names are soon alike.
fn has_few_words(text: &LeakText) -> bool {
    (3..FEW_WORDS).contains(&text.words.len()) && text.field != LeakField::Reference
}
