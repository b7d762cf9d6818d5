//! ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum as rouge-score 0.1.2 computes them.
//!
//! Source: Lin 2004, "ROUGE: a package for automatic evaluation of summaries"; tokens, stemmer and
//! the counting of Lsum as in Google's `rouge_score`.

mod lcs;
mod lexicon;

use rustc_hash::FxHashMap;
use unicode_segmentation::UnicodeSegmentation;

use super::overlap::Overlap;
use super::tokenize::grams;
use lcs::Reference;
use lexicon::{Lexicon, with_lexicon};

/// The members of the ROUGE family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RougeType {
    /// Common words.
    One,
    /// Common pairs of words.
    Two,
    /// The longest common subsequence of the whole texts.
    #[default]
    L,
    /// The union of the longest common subsequences of the texts' lines.
    Lsum,
}

/// The definition of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RougeTokens {
    /// rouge-score's: lower-cased runs of `a-z0-9`. Everything else separates, so that texts in
    /// other scripts score 0 and words with accents fall apart.
    #[default]
    Ascii,
    /// Lower-cased Unicode words (UAX 29): works for every script, equals no other
    /// implementation's numbers.
    Unicode,
}

/// Settings of ROUGE. The default is rouge-score's without stemmer.
///
/// ```
/// use karat_scoring::metrics::rouge::{Rouge, RougeType};
///
/// let rouge = Rouge { stem: true, ..Rouge::default() };
/// let [one, l] = rouge.scores([RougeType::One, RougeType::L], "studies end", "it ended the study");
/// assert_eq!(one.recall, 0.5);
/// assert_eq!(l.recall, 0.25);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rouge {
    /// Tokens of more than three ASCII letters are stemmed by [`porter`](super::tokenize::porter).
    pub stem: bool,
    /// The definition of a token.
    pub tokens: RougeTokens,
}

impl Rouge {
    /// ROUGE-1 of `candidate` against `reference`.
    #[must_use]
    pub fn rouge1(&self, candidate: &str, reference: &str) -> Overlap {
        self.score(RougeType::One, candidate, reference)
    }

    /// ROUGE-2 of `candidate` against `reference`.
    #[must_use]
    pub fn rouge2(&self, candidate: &str, reference: &str) -> Overlap {
        self.score(RougeType::Two, candidate, reference)
    }

    /// ROUGE-L of `candidate` against `reference`.
    #[must_use]
    pub fn rouge_l(&self, candidate: &str, reference: &str) -> Overlap {
        self.score(RougeType::L, candidate, reference)
    }

    /// ROUGE-Lsum of `candidate` against `reference`; sentences are lines.
    #[must_use]
    pub fn rouge_lsum(&self, candidate: &str, reference: &str) -> Overlap {
        self.score(RougeType::Lsum, candidate, reference)
    }

    /// One score; all values are 0 when a side has no token.
    #[must_use]
    pub fn score(&self, kind: RougeType, candidate: &str, reference: &str) -> Overlap {
        let [score] = self.scores([kind], candidate, reference);
        score
    }

    /// Several scores of the same pair, whose tokens are cut once.
    #[must_use]
    pub fn scores<const N: usize>(&self, kinds: [RougeType; N], candidate: &str, reference: &str) -> [Overlap; N] {
        with_lexicon(self.stem, |lexicon| {
            let candidate = self.tokenize(candidate, lexicon);
            let reference = self.tokenize(reference, lexicon);
            let counts_grams = |kind| matches!(kind, RougeType::One | RougeType::Two);
            let matches = if kinds.into_iter().any(counts_grams) {
                grams::clipped_matches::<2>(&candidate.ids, &[&reference.ids])
            } else {
                [0; 2]
            };
            kinds.map(|kind| match kind {
                RougeType::One => gram_overlap(1, matches[0], &candidate, &reference),
                RougeType::Two => gram_overlap(2, matches[1], &candidate, &reference),
                RougeType::L => {
                    let common = Reference::new(&reference.ids).common_length(&candidate.ids);
                    gram_overlap(1, common, &candidate, &reference)
                }
                RougeType::Lsum => {
                    let hits = union_hits(&candidate, &reference);
                    gram_overlap(1, hits, &candidate, &reference)
                }
            })
        })
    }

    fn tokenize(&self, text: &str, lexicon: &mut Lexicon) -> Tokens {
        let text = text.to_lowercase();
        let mut found = Tokens::default();
        for line in text.split('\n') {
            match self.tokens {
                RougeTokens::Ascii => {
                    let words = line.split(|c: char| !c.is_ascii_alphanumeric());
                    let words = words.filter(|word| !word.is_empty());
                    found.ids.extend(words.map(|word| lexicon.id(word)));
                }
                RougeTokens::Unicode => {
                    let words = line.unicode_words();
                    found.ids.extend(words.map(|word| lexicon.id(word)));
                }
            }
            found.line_ends.push(found.ids.len());
        }
        found
    }
}

/// The token ids of a text and where its lines end.
#[derive(Default)]
struct Tokens {
    ids: Vec<u32>,
    line_ends: Vec<usize>,
}

impl Tokens {
    fn lines(&self) -> impl Iterator<Item = &[u32]> {
        let mut start = 0;
        self.line_ends.iter().map(move |end| {
            let line = &self.ids[start..*end];
            start = *end;
            line
        })
    }

    fn counts(&self) -> FxHashMap<u32, usize> {
        let mut counts = FxHashMap::default();
        for id in &self.ids {
            *counts.entry(*id).or_default() += 1;
        }
        counts
    }
}

fn gram_overlap(n: usize, matched: usize, candidate: &Tokens, reference: &Tokens) -> Overlap {
    let total = |tokens: &Tokens| grams::total(tokens.ids.len(), n);
    Overlap::of(matched, total(candidate), total(reference))
}

/// Lsum's hits: for each line of the reference the union of its subsequences with all lines of the
/// candidate, where a word counts at most as often as it stands in either text.
fn union_hits(candidate: &Tokens, reference: &Tokens) -> usize {
    let (mut left, mut wanted) = (candidate.counts(), reference.counts());
    let mut hits = 0;
    for line in reference.lines().filter(|line| !line.is_empty()) {
        let prepared = Reference::new(line);
        let mut in_union = vec![false; line.len()];
        for other in candidate.lines().filter(|line| !line.is_empty()) {
            for position in prepared.common_positions(other) {
                in_union[position] = true;
            }
        }
        let confirmed = line.iter().zip(in_union).filter(|(_, common)| *common);
        for (id, _) in confirmed {
            if take(&mut left, *id) && take(&mut wanted, *id) {
                hits += 1;
            }
        }
    }
    hits
}

/// Takes one of `id`, if there is one left.
fn take(counts: &mut FxHashMap<u32, usize>, id: u32) -> bool {
    let Some(left) = counts.get_mut(&id).filter(|left| **left > 0) else {
        return false;
    };
    *left -= 1;
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(actual: f64, expected: f64) -> bool {
        (actual - expected).abs() < 1e-12
    }

    #[test]
    fn known_values_of_rouge_score() {
        let reference = "The quick brown fox jumps over the lazy dog";
        let candidate = "The quick brown dog jumps on the log.";
        let rouge = Rouge::default();
        assert!(close(rouge.rouge1(candidate, reference).f1, 0.705_882_352_941_176_5));
        assert!(close(rouge.rouge2(candidate, reference).recall, 0.25));
        assert!(close(rouge.rouge_l(candidate, reference).precision, 0.625));
    }

    #[test]
    fn lsum_is_blind_to_the_order_of_lines() {
        let (a, b) = ("line two\nline one\nline four", "line one\nline two\n\nline three");
        let rouge = Rouge::default();
        assert!(close(rouge.rouge_lsum(a, b).f1, 5.0 / 6.0));
        assert!(close(rouge.rouge_l(a, b).f1, 0.5));
    }

    #[test]
    fn ascii_tokens_lose_other_scripts_and_unicode_tokens_keep_them() {
        let (a, b) = ("東京タワーの高さ", "東京タワーは高さ");
        assert_eq!(Rouge::default().rouge1(a, b), Overlap::default());
        let unicode = Rouge { tokens: RougeTokens::Unicode, ..Rouge::default() };
        assert!(unicode.rouge1(a, b).f1 > 0.5);
        assert!(close(unicode.rouge1("Größe café", "größe CAFÉ").f1, 1.0));
        // The Kelvin sign lower-cases to an ASCII k before tokens are cut.
        assert!(close(Rouge::default().rouge1("5 \u{212a}", "5 k").f1, 1.0));
    }

    #[test]
    fn empty_texts_score_zero() {
        for kind in [RougeType::One, RougeType::Two, RougeType::L, RougeType::Lsum] {
            for (a, b) in [("", ""), ("a", ""), ("", "a"), ("!!!", "...")] {
                assert_eq!(Rouge::default().score(kind, a, b), Overlap::default());
            }
        }
    }

    proptest! {
        #[test]
        fn a_text_is_its_own_best_summary(text in "[a-e ]{0,40}[a-e]( [a-e]+)\n[a-e é東\n]{0,20}") {
            for stem in [false, true] {
                let rouge = Rouge { stem, ..Rouge::default() };
                for kind in [RougeType::One, RougeType::Two, RougeType::L, RougeType::Lsum] {
                    prop_assert!(close(rouge.score(kind, &text, &text).f1, 1.0));
                }
            }
        }

        #[test]
        fn swapping_the_sides_swaps_precision_and_recall(a in "[a-d ]{0,30}", b in "[a-d ]{0,30}") {
            for kind in [RougeType::One, RougeType::Two, RougeType::L] {
                let there = Rouge::default().score(kind, &a, &b);
                let back = Rouge::default().score(kind, &b, &a);
                prop_assert!(close(there.precision, back.recall));
                prop_assert!(close(there.f1, back.f1));
            }
        }
    }

    #[test]
    fn a_megabyte_without_line_breaks_needs_little_memory() {
        let word = |i: u32| format!("w{} ", i.wrapping_mul(2_654_435_761) % 5000);
        let a: String = (0..60_000).map(word).collect();
        let b: String = (0..60_000).map(|i| word(i + 100)).collect();
        let [l, lsum] = Rouge::default().scores([RougeType::L, RougeType::Lsum], &a, &b);
        assert!(l.f1 > 0.99 && lsum.f1 > 0.99, "{l:?} {lsum:?}");
    }
}
