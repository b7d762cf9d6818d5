//! Finds the evidence of a routed list's members in a cut document.
//!
//! Three signals place a member:
//!
//! - **time**: its `startMs` (to `endMs`), where the document has the time of each stretch;
//! - **quote**: its `quote`, word by word; the first and last word may be cut. Without a literal match, the stretches that
//!   share most of its words;
//! - **words**: the stretches of the document that share most of its other words, with rare words weighing more, if that is at
//!   least half of them. Where no stretch has all of them, one that lacks a single word more than the best counts too.
//!
//! A time or a quote may be wrong, so neither is trusted alone: the member's words must be found somewhere, or be near the
//! place that time or quote name, or time and quote must name the same piece. Then the member goes to every piece that a
//! signal names, otherwise to all pieces: a member shown in one piece too many costs nothing, while one missing from the right
//! piece would be judged as invented. A piece is named if it holds a whole stretch; where pieces overlap, two do.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use serde_json::Value;

use crate::judge::chunks::item_texts::ItemTexts;

/// Words of a stretch that members are compared with; neighbouring stretches share half of theirs.
const STRETCH: usize = 40;

/// Share of a member's words, by weight, that a stretch must have.
const MIN_MATCH: f64 = 0.5;

/// Share of a member's words, by weight, that supports a time or a quote.
const MIN_SUPPORT: f64 = 1.0 / 3.0;

/// A stretch with this share of the best one's words is as good.
const NEAR_BEST: f64 = 0.95;

/// A word is rare with at least this share of the mean weight of the words that are looked for, or of the weightiest one that
/// a stretch has.
const RARE: f64 = 0.9;

/// A document and its pieces, prepared for many members.
pub(crate) struct Evidence<'a> {
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

    /// The pieces that a member is shown with; all where its evidence is in doubt. Never empty.
    pub fn pieces_of(&self, member: &Value) -> Vec<usize> {
        let ItemTexts { own: texts, quoted } = ItemTexts::of(member);
        let by_time = self.by_time(member);
        let by_quote: Vec<Range<usize>> = quoted.into_iter().flat_map(|quote| self.by_quote(quote)).collect();
        let words = self.word_match(&texts.join(" "));
        let by_words = words.spans();
        let pieces = |spans: &[Range<usize>]| -> BTreeSet<usize> {
            spans.iter().flat_map(|span| self.containing(span)).collect()
        };
        let (timed, quoted) = (pieces(&by_time), pieces(&by_quote));
        let is_sure = !by_words.is_empty()
            || !timed.is_disjoint(&quoted)
            || by_time.iter().chain(&by_quote).any(|span| words.supports(span));
        if is_sure {
            timed.into_iter().chain(quoted).chain(pieces(&by_words)).collect::<BTreeSet<_>>().into_iter().collect()
        } else {
            (0..self.pieces.len()).collect()
        }
    }

    /// The pieces that hold all of a span; where none does, those that hold some of it.
    fn containing(&self, span: &Range<usize>) -> Vec<usize> {
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
        let stretches = self.times.iter().filter(|(time, _)| time.start <= end && start < time.end);
        let bytes = stretches.map(|(_, bytes)| bytes.clone());
        bytes.reduce(|all, next| all.start.min(next.start)..all.end.max(next.end)).into_iter().collect()
    }

    /// The spans of the quote, word by word; if there are none, the stretches that are most like it.
    fn by_quote(&self, quote: &str) -> Vec<Range<usize>> {
        let verbatim = self.verbatim(&words(quote));
        if verbatim.is_empty() { self.word_match(quote).spans() } else { verbatim }
    }

    /// The spans where these words follow each other. Of three or more, the first may be the end of a word, and the last the beginning.
    fn verbatim(&self, quote: &[(String, Range<usize>)]) -> Vec<Range<usize>> {
        let last = quote.len().saturating_sub(1);
        let anchor = usize::from(last > 1);
        let Some((word, _)) = quote.get(anchor) else { return Vec::new() };
        let is_same = |(at, (word, wanted)): (usize, (&str, &str))| {
            let may_be_cut = last > 1;
            word == wanted
                || may_be_cut && at == 0 && word.ends_with(wanted)
                || may_be_cut && at == last && word.starts_with(wanted)
        };
        let match_at = |at: &usize| {
            let words = self.words.get(at.checked_sub(anchor)?..)?.get(..quote.len())?;
            let pairs = words.iter().zip(quote).map(|(word, wanted)| (word.0.as_str(), wanted.0.as_str()));
            pairs.enumerate().all(is_same).then_some(words)
        };
        let matches = self.places.get(word).into_iter().flatten().filter_map(match_at);
        matches.filter_map(|words| Some(words.first()?.1.start..words.last()?.1.end)).collect()
    }

    /// Compares a text's words with each stretch.
    fn word_match(&self, text: &str) -> WordMatch<'_> {
        let mut wanted: Vec<String> = words(text).into_iter().map(|(word, _)| word).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let weights: Vec<f64> = wanted.iter().map(|word| self.weight(word)).collect();
        WordMatch { evidence: self, shares: self.shares(&wanted, &weights), wanted, weights }
    }

    /// By stretch, the weight of the wanted words that it holds.
    fn shares(&self, wanted: &[String], weights: &[f64]) -> HashMap<usize, f64> {
        let mut shares: HashMap<usize, f64> = HashMap::new();
        for (word, weight) in wanted.iter().zip(weights) {
            let stretches = self.places.get(word).into_iter().flatten().flat_map(|at| {
                let stretch = at / (STRETCH / 2);
                [stretch.checked_sub(1), Some(stretch)].into_iter().flatten()
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

/// The words that a member shares with each stretch of a document.
struct WordMatch<'a> {
    evidence: &'a Evidence<'a>,
    /// Its words, sorted, each once.
    wanted: Vec<String>,
    /// Of each of them.
    weights: Vec<f64>,
    /// By stretch, the weight of the words that it shares.
    shares: HashMap<usize, f64>,
}

impl WordMatch<'_> {
    fn total(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// True if a stretch about the span shares enough words with the member to be what it is about.
    fn supports(&self, span: &Range<usize>) -> bool {
        let words = &self.evidence.words;
        let first = words.partition_point(|(_, place)| place.end <= span.start);
        let last = words.partition_point(|(_, place)| place.start < span.end).max(first + 1) - 1;
        let stretches = (first / (STRETCH / 2)).saturating_sub(1)..=last / (STRETCH / 2);
        let best = stretches.filter_map(|at| self.shares.get(&at)).copied().fold(0.0, f64::max);
        best > 0.0 && best >= MIN_SUPPORT * self.total()
    }

    /// The spans of the best stretches, from the first to the last of the rarer words that they share with the member;
    /// none where the best one shares too few. A single word, which may be there by chance, puts no stretch above others
    /// unless it has all of them.
    fn spans(&self) -> Vec<Range<usize>> {
        let (words, total) = (&self.evidence.words, self.total());
        let best = self.shares.values().copied().fold(0.0, f64::max);
        if total <= 0.0 || best < MIN_MATCH * total {
            return Vec::new();
        }
        let typical = total / self.wanted.len() as f64;
        let weight = |at: usize| {
            let known = words.get(at).and_then(|(word, _)| self.wanted.binary_search(word).ok());
            known.and_then(|at| self.weights.get(at)).copied()
        };
        let is_whole = best >= NEAR_BEST * total;
        let heaviest = self.weights.iter().copied().fold(0.0, f64::max);
        let least = NEAR_BEST * best - if is_whole { 0.0 } else { heaviest };
        let good = self.shares.iter().filter(|(_, share)| **share >= least);
        let spans = good.filter_map(|(stretch, _)| {
            let from = stretch * (STRETCH / 2);
            let shared = || (from..(from + STRETCH).min(words.len())).filter_map(|at| Some((at, weight(at)?)));
            let rarest = shared().map(|(_, weight)| weight).fold(0.0, f64::max);
            let mut rare = shared().filter(|(_, weight)| *weight >= RARE * rarest.min(typical)).map(|(at, _)| at);
            let first = rare.next()?;
            Some(words.get(first)?.1.start..words.get(rare.next_back().unwrap_or(first))?.1.end)
        });
        spans.collect()
    }
}

/// The time of each stretch of bytes. Stretches that are not in the text, in order, are left out.
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

    fn timed() -> Value {
        let sentences = TEXT.split_inclusive(". ").enumerate();
        sentences.map(|(at, text)| json!({"start": at * 10, "duration": 10, "text": text})).collect()
    }

    /// CL-14: time and quote name pieces; with the words, a member goes to all that any of them names.
    #[test]
    fn members_are_placed_by_time_and_quote() {
        let (pieces, times) = (pieces(), timed());
        let evidence = Evidence::new(TEXT, &pieces, &times);
        let of = |member: Value| evidence.pieces_of(&member);
        assert_eq!(of(json!({"text": "Wheat keeps less water.", "startMs": 21_000})), [1]);
        assert_eq!(of(json!({"text": "Loaves and crusts.", "startMs": 12_000, "endMs": 14_000})), [0, 1]);
        assert_eq!(of(json!({"text": "Dampf", "startMs": 11_000, "quote": "a thinner CRUST on every loaf"})), [0, 1]);
        assert_eq!(of(json!({"text": "Roggen bindet es", "startMs": 21_000, "quote": "more WATER than wheat"})), [1]);
        assert_eq!(of(json!({"text": "Rye holds water.", "startMs": 99_000_000})), [1]);
        assert_eq!(of(json!({"text": "Rye holds water.", "quote": "never said"})), [1]);
    }

    /// CL-14: a wrong time or quote never hides a member from the piece that its words are in; what nothing supports is
    /// shown with every piece.
    #[test]
    fn wrong_evidence_is_not_believed_alone() {
        let (pieces, times) = (pieces(), timed());
        let evidence = Evidence::new(TEXT, &pieces, &times);
        let of = |member: Value| evidence.pieces_of(&member);
        assert_eq!(of(json!({"text": "Salt slows the yeast by a quarter.", "startMs": 31_000})), [0, 1]);
        assert_eq!(of(json!({"text": "Salt slows the yeast.", "quote": "ovens stay hot for six hours"})), [0, 1]);
        assert_eq!(of(json!({"text": "NaCl inhibits fermentation.", "startMs": 31_000})), [0, 1]);
        assert_eq!(of(json!({"text": "NaCl inhibits fermentation.", "quote": "stay hot"})), [0, 1]);
        assert_eq!(of(json!({"text": "NaCl inhibits it.", "quote": "salt slows", "startMs": 31_000})), [0, 1]);
    }

    /// Three bridges, far from each other.
    fn bridges() -> String {
        let between = |from: usize| (from..from + 60).map(|at| format!("other{at} ")).collect::<String>();
        format!(
            "Note a says the copper bridge has 3 piers. {}The heron bridge has 6 piers and opened in 1821. {}The amber \
             bridge has 7 piers.",
            between(0),
            between(100)
        )
    }

    fn thirds(text: &str) -> Vec<Range<usize>> {
        let (second, third) = (text.find("The heron").unwrap(), text.find("The amber").unwrap());
        vec![0..second, second..third, third..text.len()]
    }

    /// CL-14: where a claim's words fit several places, a small word that stands in one of them by chance decides nothing;
    /// where one place has all of them, it is there.
    #[test]
    fn members_that_fit_several_places_go_to_all_of_them() {
        let text = bridges();
        let pieces = thirds(&text);
        let evidence = Evidence::new(&text, &pieces, &Value::Null);
        let of = |text: &str| evidence.pieces_of(&json!({"text": text}));
        assert_eq!(of("A bridge has six piers."), [0, 1, 2]);
        assert_eq!(of("A bridge has seven piers."), [0, 1, 2]);
        assert_eq!(of("The heron bridge has 6 piers."), [1]);
    }

    /// CL-14: a quote that is cut within a word, or of which a word differs, still says where it is from.
    #[test]
    fn quotes_may_be_cut_within_a_word() {
        let text = bridges();
        let pieces = thirds(&text);
        let evidence = Evidence::new(&text, &pieces, &Value::Null);
        for quote in
            ["6 piers and opened in 182", "ron bridge has 6 pie", "the heron bridge with 6 piers, opened in 1821"]
        {
            let spans = evidence.by_quote(quote);
            assert!(
                !spans.is_empty() && spans.iter().all(|span| evidence.containing(span) == [1]),
                "{quote}: {spans:?}"
            );
            let claim = json!({"text": "The copper bridge opened.", "quote": quote});
            assert!(evidence.pieces_of(&claim).contains(&1), "{quote}");
        }
        assert!(evidence.by_quote("wholly unheard of here").is_empty());
    }

    #[test]
    fn scripts_without_spaces_are_words_by_character() {
        let found: Vec<String> = words("Tide 潮汐 7").into_iter().map(|(word, _)| word).collect();
        assert_eq!(found, ["tide", "潮", "汐", "7"]);
    }
}
