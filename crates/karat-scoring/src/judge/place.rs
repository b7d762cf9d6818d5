//! Where in a cut document the members of a routed list have their evidence.
//!
//! A member is placed by the first of these that leads anywhere:
//!
//! 1. **time**: its `startMs` (to `endMs`), where the document says when each stretch of it was said;
//! 2. **quote**: its `quote`, word by word;
//! 3. **words**: the stretch of the document that shares most of its words, rare ones weighing more, where that is at
//!    least half of them.
//!
//! It goes to every piece that holds the whole of that stretch: two, where pieces overlap there. A member that leads
//! nowhere goes to all pieces.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use serde_json::Value;

/// Words of a stretch that members are compared with; neighbouring stretches share half of theirs.
const STRETCH: usize = 40;

/// Share of a member's words, by weight, that a stretch must have.
const PLACED: f64 = 0.5;

/// A stretch with this share of the best one's words is as good.
const AS_GOOD: f64 = 0.95;

/// A word is rare with at least this share of the mean weight of the words that are looked for.
const RARE: f64 = 0.9;

/// A document and its pieces, prepared for many members.
pub(super) struct Evidence<'a> {
    pieces: &'a [Range<usize>],
    /// Its words, folded, with where each stands.
    words: Vec<(String, Range<usize>)>,
    /// Positions of each word.
    places: HashMap<String, Vec<usize>>,
    /// Milliseconds, and the bytes that were said then.
    times: Vec<(Range<f64>, Range<usize>)>,
}

impl<'a> Evidence<'a> {
    /// `times` is a list of `{start, duration, text}` in seconds, or nothing.
    pub fn new(text: &str, pieces: &'a [Range<usize>], times: &Value) -> Self {
        let words = words(text);
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, (word, _)) in words.iter().enumerate() {
            places.entry(word.clone()).or_default().push(at);
        }
        Self { pieces, words, places, times: timeline(text, times) }
    }

    /// The pieces that a member is shown with; all where its evidence is nowhere. Never empty.
    pub fn pieces_of(&self, member: &Value) -> Vec<usize> {
        let by_quote = || member.get("quote").and_then(Value::as_str).map(|quote| self.by_quote(quote));
        let found = [Some(self.by_time(member))]
            .into_iter()
            .chain(std::iter::once_with(by_quote))
            .chain(std::iter::once_with(|| Some(self.by_words(&texts_of(member)))))
            .flatten()
            .find(|found| !found.is_empty())
            .unwrap_or_default();
        let pieces: BTreeSet<usize> = found.iter().flat_map(|span| self.holding(span)).collect();
        if pieces.is_empty() { (0..self.pieces.len()).collect() } else { pieces.into_iter().collect() }
    }

    /// The pieces that hold all of a span; where none does, those that hold some of it.
    fn holding(&self, span: &Range<usize>) -> Vec<usize> {
        let those = |fits: &dyn Fn(&Range<usize>) -> bool| -> Vec<usize> {
            self.pieces.iter().enumerate().filter(|(_, piece)| fits(piece)).map(|(at, _)| at).collect()
        };
        let whole = those(&|piece| piece.start <= span.start && span.end <= piece.end);
        if whole.is_empty() { those(&|piece| piece.start < span.end && span.start < piece.end) } else { whole }
    }

    fn by_time(&self, member: &Value) -> Vec<Range<usize>> {
        let moment = |name: &str| member.get(name).and_then(Value::as_f64);
        let Some(start) = moment("startMs") else { return Vec::new() };
        let end = moment("endMs").map_or(start, |end| end.max(start));
        let said = self.times.iter().filter(|(time, _)| time.start <= end && start < time.end);
        let bytes = said.map(|(_, bytes)| bytes.clone());
        bytes.reduce(|all, next| all.start.min(next.start)..all.end.max(next.end)).into_iter().collect()
    }

    /// Where the quote stands, word by word.
    fn by_quote(&self, quote: &str) -> Vec<Range<usize>> {
        let quote = words(quote);
        let Some((first, _)) = quote.first() else { return Vec::new() };
        let stands = |at: &usize| {
            self.words.get(*at..at + quote.len()).filter(|found| found.iter().zip(&quote).all(|(a, b)| a.0 == b.0))
        };
        let found = self.places.get(first).into_iter().flatten().filter_map(stands);
        found.filter_map(|found| Some(found.first()?.1.start..found.last()?.1.end)).collect()
    }

    /// The spans of the best stretches, from the first to the last of the rarer words that they share with the text.
    fn by_words(&self, text: &str) -> Vec<Range<usize>> {
        let mut wanted: Vec<String> = words(text).into_iter().map(|(word, _)| word).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let weights: Vec<f64> = wanted.iter().map(|word| self.weight(word)).collect();
        let total: f64 = weights.iter().sum();
        let shares = self.shares(&wanted, &weights);
        let best = shares.values().copied().fold(0.0, f64::max);
        if total <= 0.0 || best < PLACED * total {
            return Vec::new();
        }
        let typical = total / wanted.len() as f64;
        let rare = |at: usize| {
            let known = self.words.get(at).and_then(|(word, _)| wanted.binary_search(word).ok());
            known.and_then(|at| weights.get(at)).is_some_and(|weight| *weight >= RARE * typical)
        };
        let good = shares.iter().filter(|(_, share)| **share >= AS_GOOD * best);
        let spans = good.filter_map(|(stretch, _)| {
            let from = stretch * (STRETCH / 2);
            let mut shared = (from..(from + STRETCH).min(self.words.len())).filter(|at| rare(*at));
            let first = shared.next()?;
            Some(self.words.get(first)?.1.start..self.words.get(shared.next_back().unwrap_or(first))?.1.end)
        });
        spans.collect()
    }

    /// By stretch, the weight of the wanted words that it holds.
    fn shares(&self, wanted: &[String], weights: &[f64]) -> HashMap<usize, f64> {
        let mut shares: HashMap<usize, f64> = HashMap::new();
        for (word, weight) in wanted.iter().zip(weights) {
            let stretches = self.places.get(word).into_iter().flatten().flat_map(|at| {
                let own = at / (STRETCH / 2);
                [own.checked_sub(1), Some(own)].into_iter().flatten()
            });
            for stretch in stretches.collect::<BTreeSet<usize>>() {
                *shares.entry(stretch).or_default() += weight;
            }
        }
        shares
    }

    /// ln(1 + words of the document / times that it stands there); a word that is not there counts as one that is rare.
    fn weight(&self, word: &str) -> f64 {
        let times = self.places.get(word).map_or(1, Vec::len);
        (self.words.len() as f64 / times as f64).ln_1p()
    }
}

/// When which bytes were said. Stretches that are not in the text, in order, are left out.
fn timeline(text: &str, times: &Value) -> Vec<(Range<f64>, Range<usize>)> {
    let mut from = 0;
    let mut timeline = Vec::new();
    for stretch in times.as_array().into_iter().flatten() {
        let number = |name: &str| stretch.get(name).and_then(Value::as_f64);
        let (Some(start), Some(said)) = (number("start"), stretch.get("text").and_then(Value::as_str)) else {
            continue;
        };
        let said = said.trim();
        let Some(at) = text.get(from..).and_then(|rest| rest.find(said)).filter(|_| !said.is_empty()) else { continue };
        let bytes = from + at..from + at + said.len();
        from = bytes.end;
        timeline.push((start * 1000.0..(start + number("duration").unwrap_or(0.0)) * 1000.0, bytes));
    }
    timeline
}

/// The words of a text in lower case, and where they stand. Where a script has no spaces, each character is a word.
fn words(text: &str) -> Vec<(String, Range<usize>)> {
    let mut words: Vec<(String, Range<usize>)> = Vec::new();
    let mut inside = false;
    for (at, character) in text.char_indices() {
        let end = at + character.len_utf8();
        let is_word = character.is_alphanumeric();
        let alone = matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}');
        match words.last_mut() {
            Some((word, place)) if inside && is_word && !alone => {
                word.extend(character.to_lowercase());
                place.end = end;
            }
            _ if is_word => words.push((character.to_lowercase().collect(), at..end)),
            _ => {}
        }
        inside = is_word && !alone;
    }
    words
}

/// All texts within a value.
fn texts_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(texts_of).collect::<Vec<_>>().join(" "),
        Value::Object(members) => members.values().map(texts_of).collect::<Vec<_>>().join(" "),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEXT: &str = "Salt slows the yeast by a quarter. Steam makes a thinner crust on every loaf. Rye holds more water \
                        than wheat. Stone ovens stay hot for six hours.";

    /// Pieces that overlap in the sentence about steam.
    fn pieces() -> Vec<Range<usize>> {
        let steam = TEXT.find("Steam").unwrap()..TEXT.find(" Rye").unwrap();
        vec![0..steam.end, steam.start..TEXT.len()]
    }

    /// CL-14: a claim goes where its words are; to both pieces where they overlap; to all where it has no evidence.
    #[test]
    fn members_are_placed_by_their_words() {
        let pieces = pieces();
        let evidence = Evidence::new(TEXT, &pieces, &Value::Null);
        let of = |text: &str| evidence.pieces_of(&json!({"text": text}));
        assert_eq!(of("Yeast is slowed by salt."), [0]);
        assert_eq!(of("Ovens of stone stay hot for hours."), [1]);
        assert_eq!(of("Steam makes each crust thinner."), [0, 1]);
        assert_eq!(of("Nobody mentions volcanoes."), [0, 1]);
        assert_eq!(of(""), [0, 1]);
    }

    /// CL-14: time goes before quote, quote before words.
    #[test]
    fn members_are_placed_by_time_and_quote() {
        let pieces = pieces();
        let stretches: Vec<Value> = TEXT
            .split_inclusive(". ")
            .enumerate()
            .map(|(at, text)| json!({"start": at * 10, "duration": 10, "text": text}))
            .collect();
        let evidence = Evidence::new(TEXT, &pieces, &Value::Array(stretches));
        assert_eq!(evidence.pieces_of(&json!({"text": "Salt slows the yeast.", "startMs": 31_000})), [1]);
        assert_eq!(evidence.pieces_of(&json!({"text": "x", "startMs": 12_000, "endMs": 14_000})), [0, 1]);
        assert_eq!(evidence.pieces_of(&json!({"text": "Salt", "quote": "more WATER than wheat"})), [1]);
        assert_eq!(evidence.pieces_of(&json!({"text": "Rye holds water.", "startMs": 99_000_000})), [1]);
    }

    #[test]
    fn scripts_without_spaces_are_words_by_character() {
        let found: Vec<String> = words("Tide 潮汐 7").into_iter().map(|(word, _)| word).collect();
        assert_eq!(found, ["tide", "潮", "汐", "7"]);
    }
}
