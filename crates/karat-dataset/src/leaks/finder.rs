//! Looks the phrases of passing texts up in those that are held.

use rustc_hash::FxHashMap;

use super::index::{PhraseIndex, WholeIndex, may_leak_whole};
use super::text::{LeakField, LeakText};
use super::{PHRASE, SHORTEST};

/// Matches that are kept. More of them are boilerplate, or a corpus that is the test set.
const MATCHES: usize = 500_000;

/// The side whose texts are held in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldSide {
    /// The test rows; other texts pass by.
    Tests,
    /// The other texts; test rows pass by.
    Others,
}

/// The kind of a match before boilerplate is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum MatchKind {
    Equal,
    Near(f64),
    /// The whole test text, which has few words.
    Whole,
    Phrases,
}

/// Words that a held text and a passing one share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Match {
    pub held: u32,
    pub passing: u32,
    pub kind: MatchKind,
    pub held_from: u32,
    pub passing_from: u32,
    pub words: u32,
}

/// Finds test rows in other texts.
pub struct LeakFinder {
    pub(super) side: HeldSide,
    pub(super) held: Vec<LeakText>,
    phrases: PhraseIndex,
    whole: WholeIndex,
    /// Passing texts that share something.
    pub(super) passing: Vec<LeakText>,
    pub(super) matches: Vec<Match>,
    /// The number of test rows that hold a phrase.
    pub(super) frequencies: FxHashMap<u64, u32>,
    /// The last test row that was counted for a phrase.
    counted: FxHashMap<u64, u32>,
    /// The number of test texts with a reference, by its hash: one that many have is a label.
    pub(super) answers: FxHashMap<u64, u32>,
    /// Numbers of the test rows and of the other texts so far.
    pub(super) rows: u32,
    pub(super) others: u32,
    last: Option<u32>,
    /// The number of matches that were not kept.
    pub(super) left_out: u64,
}

impl LeakFinder {
    /// A finder that holds the texts of one side. Texts of one row follow each other and have its number.
    pub fn new(side: HeldSide, held: Vec<LeakText>) -> Self {
        let phrases = PhraseIndex::new(&held);
        let whole = match side {
            HeldSide::Tests => WholeIndex::of_tests(&held),
            HeldSide::Others => WholeIndex::of_others(&held),
        };
        let mut finder = Self {
            side,
            phrases,
            whole,
            passing: Vec::new(),
            matches: Vec::new(),
            frequencies: FxHashMap::default(),
            counted: FxHashMap::default(),
            answers: FxHashMap::default(),
            rows: 0,
            others: 0,
            last: None,
            left_out: 0,
            held,
        };
        let numbers = finder.held.chunk_by(|one, other| one.number == other.number).count() as u32;
        match side {
            HeldSide::Tests => {
                finder.rows = numbers;
                finder.frequencies = finder.phrases.frequencies(|text| finder.held[text as usize].number);
                let references = finder.held.iter().filter(|text| text.field == LeakField::Reference);
                references.for_each(|text| *finder.answers.entry(text.whole()).or_default() += 1);
            }
            HeldSide::Others => finder.others = numbers,
        }
        finder
    }

    /// Looks the next passing text up.
    pub fn add(&mut self, text: LeakText) {
        let is_new = self.last != Some(text.number);
        self.last = Some(text.number);
        match self.side {
            HeldSide::Tests => self.others += u32::from(is_new),
            HeldSide::Others => {
                self.rows += u32::from(is_new);
                if text.field == LeakField::Reference {
                    *self.answers.entry(text.whole()).or_default() += 1;
                }
            }
        }
        if text.words.is_empty() {
            return;
        }
        let before = self.matches.len();
        let passing = self.passing.len() as u32;
        let all = text.words.len() as u32;
        for held in self.whole.equal(&text) {
            let words = self.held[*held as usize].words.len() as u32;
            let kind = MatchKind::Equal;
            self.matches.push(Match { held: *held, passing, kind, held_from: 0, passing_from: 0, words: words.min(all) });
        }
        for (held, likeness) in self.whole.near(&text) {
            let words = self.held[held as usize].words.len() as u32;
            let kind = MatchKind::Near(likeness);
            self.matches.push(Match { held, passing, kind, held_from: 0, passing_from: 0, words: words.min(all) });
        }
        self.match_whole(&text, passing);
        self.match_phrases(&text, passing);
        if self.matches.len() > before {
            self.left_out += self.matches.len().saturating_sub(MATCHES) as u64;
            self.matches.truncate(MATCHES);
            self.passing.push(text);
        }
    }

    /// Test texts of few words, as a whole.
    fn match_whole(&mut self, text: &LeakText, passing: u32) {
        let kind = MatchKind::Whole;
        match self.side {
            HeldSide::Others if may_leak_whole(text) => {
                let words = text.words.len() as u32;
                let places = self.whole.short(text.whole()).iter();
                self.matches.extend(places.map(|(held, held_from)| {
                    Match { held: *held, passing, kind, held_from: *held_from, passing_from: 0, words }
                }));
            }
            HeldSide::Others => {}
            HeldSide::Tests => {
                let shortest = if text.field == LeakField::Prompt { 1 } else { SHORTEST };
                for count in shortest..PHRASE {
                    for (passing_from, hash) in text.phrases(count) {
                        let found = self.whole.short(hash).iter();
                        let words = count as u32;
                        self.matches.extend(found.map(|(held, _)| {
                            Match { held: *held, passing, kind, held_from: 0, passing_from, words }
                        }));
                    }
                }
            }
        }
    }

    /// Runs of phrases, as long as they go.
    fn match_phrases(&mut self, text: &LeakText, passing: u32) {
        // The end of the last run of each text and offset.
        let mut ends: FxHashMap<(u32, i64), u32> = FxHashMap::default();
        for (at, hash) in text.phrases(PHRASE) {
            let places = self.phrases.places(hash);
            if places.is_empty() {
                continue;
            }
            if self.side == HeldSide::Others && self.counted.insert(hash, text.number) != Some(text.number) {
                *self.frequencies.entry(hash).or_default() += 1;
            }
            for (_, held, position) in places {
                let offset = i64::from(*position) - i64::from(at);
                if ends.get(&(*held, offset)).is_some_and(|end| at < *end) {
                    continue;
                }
                let other = &self.held[*held as usize];
                let pairs = text.words[at as usize..].iter().zip(&other.words[*position as usize..]);
                let words = pairs.take_while(|(one, other)| one.hash == other.hash).count() as u32;
                // Two phrases of one hash are the same words, but for a collision.
                if words as usize >= PHRASE {
                    ends.insert((*held, offset), at + words + 1 - PHRASE as u32);
                    self.matches.push(Match {
                        held: *held,
                        passing,
                        kind: MatchKind::Phrases,
                        held_from: *position,
                        passing_from: at,
                        words,
                    });
                }
            }
            if self.matches.len() > MATCHES {
                return;
            }
        }
    }
}
