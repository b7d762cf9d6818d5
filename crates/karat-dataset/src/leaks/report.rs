//! Hits without boilerplate, one for each row and text.

use std::collections::BTreeMap;

use serde::Serialize;

use super::finder::{HeldSide, LeakFinder, Match, MatchKind};
use super::text::{LeakField, LeakText};
use super::{COMMON_ROWS, COMMON_SHARE, LONG, LONG_PHRASE, NEAR, PHRASE};
use crate::duplicates::likeness_of;

/// Characters of a passage that are shown.
const SHOWN: usize = 300;
/// Pieces of boilerplate that are listed.
const LISTED: usize = 20;
/// Words below which equal texts say nothing unless both are inputs or examples.
const TELLING: usize = 4;

/// The kind of a leak, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeakKind {
    /// The texts are equal once case and white space are folded.
    Exact,
    /// The prompt states the reference.
    Answer,
    /// The Jaccard index of the texts is at least 0.8.
    Near,
    /// They share a passage.
    Passage,
}

/// A test row and a text that holds something of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeakHit {
    /// Number of the test row.
    #[serde(rename = "row_number")]
    pub row: u32,
    /// Its part that leaked.
    pub field: LeakField,
    /// Number of the other text.
    #[serde(rename = "other_number")]
    pub other: u32,
    /// Its part.
    pub other_field: LeakField,
    /// The kind.
    pub kind: LeakKind,
    /// Words of the longest passage that both share.
    pub words: u32,
    /// The passage in the test row, at most 300 characters.
    pub passage: String,
    /// The passage in the other text.
    pub other_passage: String,
}

/// A phrase of many test rows, which is not a leak.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Boilerplate {
    /// The phrase, at most 300 characters.
    pub passage: String,
    /// Number of the test rows that hold its rarest part.
    pub rows: u32,
}

/// The leaks of a set.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Leaks {
    /// Hits, by row.
    pub hits: Vec<LeakHit>,
    /// Phrases that were ignored because too many test rows hold them, the most frequent first.
    pub boilerplate: Vec<Boilerplate>,
    /// Number of test rows.
    pub rows: u32,
    /// Number of other texts.
    pub others: u32,
    /// Number of matches that were not looked at, because there were too many.
    pub left_out: u64,
}

impl Leaks {
    /// The number of test rows with a hit.
    pub fn leaked_rows(&self) -> usize {
        let mut rows: Vec<u32> = self.hits.iter().map(|hit| hit.row).collect();
        rows.sort_unstable();
        rows.dedup();
        rows.len()
    }

    /// The number of hits of each kind, the gravest first.
    pub fn kinds(&self) -> BTreeMap<LeakKind, usize> {
        let mut kinds = BTreeMap::new();
        self.hits.iter().for_each(|hit| *kinds.entry(hit.kind).or_default() += 1);
        kinds
    }
}

/// A match seen from the test row.
struct Sides<'a> {
    test: &'a LeakText,
    other: &'a LeakText,
    test_from: usize,
    other_from: usize,
    words: usize,
}

impl LeakFinder {
    /// Ends the search.
    pub fn finish(self) -> Leaks {
        let mut best: BTreeMap<(u32, LeakField, u32, LeakField), LeakHit> = BTreeMap::new();
        let mut common: BTreeMap<String, u32> = BTreeMap::new();
        for found in &self.matches {
            let sides = self.sides(found);
            for hit in self.hits(found, &sides, &mut common) {
                let key = (hit.row, hit.field, hit.other, hit.other_field);
                match best.get_mut(&key) {
                    Some(known) if (known.kind, u32::MAX - known.words) <= (hit.kind, u32::MAX - hit.words) => {}
                    Some(known) => *known = hit,
                    None => {
                        best.insert(key, hit);
                    }
                }
            }
        }
        let mut boilerplate: Vec<Boilerplate> =
            common.into_iter().map(|(passage, rows)| Boilerplate { passage, rows }).collect();
        boilerplate.sort_by(|one, other| other.rows.cmp(&one.rows).then_with(|| one.passage.cmp(&other.passage)));
        boilerplate.truncate(LISTED);
        Leaks {
            hits: best.into_values().collect(),
            boilerplate,
            rows: self.rows,
            others: self.others,
            left_out: self.left_out,
        }
    }

    fn sides(&self, found: &Match) -> Sides<'_> {
        let (held, passing) = (&self.held[found.held as usize], &self.passing[found.passing as usize]);
        let (held_from, passing_from) = (found.held_from as usize, found.passing_from as usize);
        let words = found.words as usize;
        match self.side {
            HeldSide::Tests => {
                Sides { test: held, other: passing, test_from: held_from, other_from: passing_from, words }
            }
            HeldSide::Others => {
                Sides { test: passing, other: held, test_from: passing_from, other_from: held_from, words }
            }
        }
    }

    /// The hits of a match; runs of phrases may be cut by boilerplate.
    fn hits(&self, found: &Match, sides: &Sides<'_>, common: &mut BTreeMap<String, u32>) -> Vec<LeakHit> {
        let (test, other) = (sides.test, sides.other);
        let is_reference = test.field == LeakField::Reference;
        let kind = match found.kind {
            MatchKind::Equal => {
                let are_inputs = !is_reference && other.field != LeakField::Reference;
                let tells = are_inputs || (test.words.len() >= TELLING && !self.is_label(test));
                return if tells { vec![hit(sides, LeakKind::Exact, 0, sides.words)] } else { Vec::new() };
            }
            MatchKind::Near(_) => LeakKind::Near,
            MatchKind::Whole if is_reference && (other.field != LeakField::Prompt || self.is_label(test)) => {
                return Vec::new();
            }
            MatchKind::Whole if is_reference => LeakKind::Answer,
            MatchKind::Whole => LeakKind::Passage,
            MatchKind::Phrases => return self.runs(sides, common),
        };
        vec![hit(sides, kind, 0, sides.words)]
    }

    /// The parts of a run that are not boilerplate and long enough.
    fn runs(&self, sides: &Sides<'_>, common: &mut BTreeMap<String, u32>) -> Vec<LeakHit> {
        let test = sides.test;
        let least = if test.words.len() > LONG { LONG_PHRASE } else { PHRASE };
        let limit = ((COMMON_SHARE * f64::from(self.rows)) as u32).max(COMMON_ROWS - 1);
        let count = |at: usize| {
            let hash = test.phrase_at(sides.test_from + at, PHRASE);
            hash.and_then(|hash| self.frequencies.get(&hash)).copied().unwrap_or(1)
        };
        let phrases = sides.words + 1 - PHRASE;
        let mut hits = Vec::new();
        let mut at = 0;
        while at < phrases {
            let is_common = count(at) > limit;
            let end = (at..phrases).find(|next| (count(*next) > limit) != is_common).unwrap_or(phrases);
            let words = end - at + PHRASE - 1;
            if is_common {
                let rows = (at..end).map(count).min().unwrap_or_default();
                let known = common.entry(shorten(test.passage(sides.test_from + at, words))).or_default();
                *known = rows.max(*known);
            } else if words >= least {
                let is_whole = words == test.words.len();
                let is_answer = test.field == LeakField::Reference && sides.other.field == LeakField::Prompt;
                let kind = match () {
                    () if is_whole && is_answer => LeakKind::Answer,
                    () if likeness_of(&test.text, &sides.other.text, NEAR) >= NEAR => LeakKind::Near,
                    () => LeakKind::Passage,
                };
                hits.push(hit(sides, kind, at, words));
            }
            at = end;
        }
        hits
    }

    /// Returns whether so many rows have this reference that it is the name of a class.
    fn is_label(&self, reference: &LeakText) -> bool {
        let count = self.answers.get(&reference.whole()).copied().unwrap_or(0);
        count >= 3 && f64::from(count) > COMMON_SHARE * f64::from(self.rows)
    }
}

fn hit(sides: &Sides<'_>, kind: LeakKind, from: usize, words: usize) -> LeakHit {
    LeakHit {
        row: sides.test.number,
        field: sides.test.field,
        other: sides.other.number,
        other_field: sides.other.field,
        kind,
        words: words as u32,
        passage: shorten(sides.test.passage(sides.test_from + from, words)),
        other_passage: shorten(sides.other.passage(sides.other_from + from, words)),
    }
}

fn shorten(passage: &str) -> String {
    match passage.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &passage[..end]),
        None => passage.to_owned(),
    }
}
