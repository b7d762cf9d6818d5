//! chrF and chrF++ as sacrebleu 2 computes them; scores in 0..=100.
//!
//! Source: Popović 2015 and 2017. Orders that are absent on both sides do not count (effective
//! order). Quote [`Chrf::signature`] with every number.

use rustc_hash::FxHashMap;

use super::tokenize::grams;
use super::tokenize::tokens::{is_space, split_spaces};

/// The longest n-gram of characters.
const CHARACTER_ORDERS: usize = 6;
/// The longest n-gram of words in chrF++.
const WORD_ORDERS: usize = 2;
const ORDERS: usize = CHARACTER_ORDERS + WORD_ORDERS;

/// The F-score's β: recall counts β² times as much as precision.
const BETA: f64 = 2.0;

/// Settings of chrF. The default is chrF2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Chrf {
    /// chrF++: words and pairs of words count beside the characters.
    pub words: bool,
    /// Texts are lower-cased first.
    pub lowercase: bool,
}

/// chrF's counts of one segment; segments add up to a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChrfCounts {
    orders: [GramCounts; ORDERS],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct GramCounts {
    candidate: usize,
    reference: usize,
    matched: usize,
}

impl std::ops::AddAssign for ChrfCounts {
    fn add_assign(&mut self, other: Self) {
        for (sum, more) in self.orders.iter_mut().zip(other.orders) {
            sum.candidate += more.candidate;
            sum.reference += more.reference;
            sum.matched += more.matched;
        }
    }
}

impl Chrf {
    /// chrF++: characters, words and pairs of words.
    #[must_use]
    pub fn plus_plus() -> Self {
        Self { words: true, ..Self::default() }
    }

    /// The score of one sentence against its best reference; `None` without references.
    ///
    /// ```
    /// use karat_scoring::metrics::chrf::Chrf;
    ///
    /// let score = Chrf::default().sentence("the cat sat", &["a dog sat", "the cat sits"]).unwrap();
    /// assert!(score > 50.0 && score < 100.0);
    /// ```
    #[must_use]
    pub fn sentence<S: AsRef<str>>(&self, candidate: &str, references: &[S]) -> Option<f64> {
        let counts = self.count(candidate, references)?;
        Some(self.score_of_counts(&counts))
    }

    /// The score of a corpus: the counts of all segments, each against its best reference, added
    /// up. `None` for a corpus without segments or with a segment without references.
    #[must_use]
    pub fn corpus<'a, S: AsRef<str> + 'a>(
        &self,
        segments: impl IntoIterator<Item = (&'a str, &'a [S])>,
    ) -> Option<f64> {
        let mut sum = None;
        for (candidate, references) in segments {
            *sum.get_or_insert_with(ChrfCounts::default) += self.count(candidate, references)?;
        }
        sum.map(|counts| self.score_of_counts(&counts))
    }

    /// chrF's counts of a segment with its best reference, the first of equals; `None` without
    /// references.
    #[must_use]
    pub fn count<S: AsRef<str>>(&self, candidate: &str, references: &[S]) -> Option<ChrfCounts> {
        let mut ids = FxHashMap::default();
        let candidate = self.units(candidate, &mut ids);
        let mut best: Option<(f64, ChrfCounts)> = None;
        for reference in references {
            let counts = self.counts(&candidate, &self.units(reference.as_ref(), &mut ids));
            let score = self.score_of_counts(&counts);
            if best.is_none_or(|(highest, _)| score > highest) {
                best = Some((score, counts));
            }
        }
        best.map(|(_, counts)| counts)
    }

    /// The score of counts, of one segment or summed.
    #[must_use]
    pub fn score_of_counts(&self, counts: &ChrfCounts) -> f64 {
        let (mut precision, mut recall, mut orders) = (0.0, 0.0, 0.0);
        for order in &counts.orders {
            if order.candidate > 0 && order.reference > 0 {
                precision += order.matched as f64 / order.candidate as f64;
                recall += order.matched as f64 / order.reference as f64;
                orders += 1.0;
            }
        }
        if precision + recall == 0.0 {
            return 0.0;
        }
        let (precision, recall) = (precision / orders, recall / orders);
        let weight = BETA * BETA;
        100.0 * ((1.0 + weight) * precision * recall / (weight * precision + recall))
    }

    /// sacrebleu's signature of the score; `references` per segment, `None` where it varies.
    ///
    /// ```
    /// use karat_scoring::metrics::chrf::Chrf;
    ///
    /// let signature = Chrf::plus_plus().signature(Some(1));
    /// assert!(signature.starts_with("nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:karat-"));
    /// ```
    #[must_use]
    pub fn signature(&self, references: Option<usize>) -> String {
        let references = references.map_or_else(|| "var".to_owned(), |n| n.to_string());
        let case = if self.lowercase { "lc" } else { "mixed" };
        let words = if self.words { WORD_ORDERS } else { 0 };
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "nrefs:{references}|case:{case}|eff:yes|nc:{CHARACTER_ORDERS}|nw:{words}|space:no|version:karat-{version}"
        )
    }

    fn units(&self, text: &str, ids: &mut FxHashMap<Box<str>, u32>) -> Units {
        if self.lowercase { Units::of(&text.to_lowercase(), self.words, ids) } else { Units::of(text, self.words, ids) }
    }

    fn counts(&self, candidate: &Units, reference: &Units) -> ChrfCounts {
        let characters = orders_of::<CHARACTER_ORDERS>(&candidate.characters, &reference.characters);
        let words = orders_of::<WORD_ORDERS>(&candidate.words, &reference.words);
        let mut orders = [GramCounts::default(); ORDERS];
        orders[..CHARACTER_ORDERS].copy_from_slice(&characters);
        orders[CHARACTER_ORDERS..].copy_from_slice(&words);
        ChrfCounts { orders }
    }
}

/// Counts of the orders 1 to `N`. An order that the reference lacks does not count for the
/// candidate either.
fn orders_of<const N: usize>(candidate: &[u32], reference: &[u32]) -> [GramCounts; N] {
    let matched = grams::clipped_matches::<N>(candidate, &[reference]);
    std::array::from_fn(|order| {
        let in_reference = grams::total(reference.len(), order + 1);
        let in_candidate = grams::total(candidate.len(), order + 1);
        GramCounts {
            candidate: if in_reference > 0 { in_candidate } else { 0 },
            reference: in_reference,
            matched: matched[order],
        }
    })
}

/// The characters and, for chrF++, the words of a text.
struct Units {
    characters: Vec<u32>,
    words: Vec<u32>,
}

impl Units {
    fn of(text: &str, with_words: bool, ids: &mut FxHashMap<Box<str>, u32>) -> Self {
        let characters = text.chars().filter(|c| !is_space(*c)).map(u32::from).collect();
        let mut words = Vec::new();
        if with_words {
            let parts = split_spaces(text).flat_map(without_punctuation);
            words.extend(parts.filter(|part| !part.is_empty()).map(|part| {
                let next = ids.len() as u32;
                *ids.entry(part.into()).or_insert(next)
            }));
        }
        Self { characters, words }
    }
}

/// Cuts one ASCII punctuation mark off the end of a word, else off its start; the absent part is
/// empty.
fn without_punctuation(word: &str) -> [&str; 2] {
    if word.len() == 1 {
        return [word, ""];
    }
    if word.ends_with(|c: char| c.is_ascii_punctuation()) {
        let (body, mark) = word.split_at(word.len() - 1);
        return [body, mark];
    }
    if word.starts_with(|c: char| c.is_ascii_punctuation()) {
        let (mark, body) = word.split_at(1);
        return [mark, body];
    }
    [word, ""]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn scores_equal_sacrebleu_s() {
        let reference = ["The quick brown fox jumps over the lazy dog"];
        let candidate = "The quick brown dog jumps on the log.";
        let chrf = Chrf::default().sentence(candidate, &reference).unwrap();
        assert!((chrf - 52.532_447_164_368_1).abs() < 1e-9);
        let plus = Chrf::plus_plus().sentence(candidate, &reference).unwrap();
        assert!((plus - 50.893_241_923_228_935).abs() < 1e-9);
    }

    #[test]
    fn words_lose_one_mark_at_the_end_or_the_start() {
        for (word, expected) in
            [("(hi)", ["(hi", ")"]), ("(hi", ["(", "hi"]), ("hi", ["hi", ""]), ("!", ["!", ""]), ("é.", ["é", "."])]
        {
            assert_eq!(without_punctuation(word), expected);
        }
    }

    #[test]
    fn empty_sides_score_zero_and_no_reference_is_undefined() {
        for (a, b) in [("", ""), ("a", ""), ("", "a"), (" ", "\n")] {
            assert!(Chrf::plus_plus().sentence(a, &[b]).unwrap().abs() < 1e-12);
        }
        assert_eq!(Chrf::default().sentence::<&str>("a", &[]), None);
    }

    #[test]
    fn the_best_reference_counts() {
        let chrf = Chrf::default();
        let best = chrf.sentence("same text", &["other", "same text"]).unwrap();
        assert!((best - 100.0).abs() < 1e-9);
        let lower = Chrf { lowercase: true, ..chrf };
        assert!((lower.sentence("SAME", &["same"]).unwrap() - 100.0).abs() < 1e-9);
    }

    #[test]
    fn a_megabyte_is_quick() {
        let a = "Größe 東京 ".repeat(60_000);
        assert!((Chrf::plus_plus().sentence(&a, &[&a]).unwrap() - 100.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn scores_are_bounded(a in ".{0,30}", b in ".{0,30}") {
            let score = Chrf::plus_plus().sentence(&a, &[&b]).unwrap();
            prop_assert!((0.0..=100.0 + 1e-9).contains(&score));
        }
    }
}
