//! BLEU of sentences and corpora as sacrebleu 2 computes it; scores in 0..=100.
//!
//! Source: Papineni 2002; Post 2018, "A call for clarity in reporting BLEU scores". Quote
//! [`Bleu::signature`] with every number.

mod tokenizer;

use std::borrow::Cow;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::tokenize::grams;
use super::tokenize::tokens::split_spaces;
pub use tokenizer::BleuTokenizer;

/// The longest n-gram.
const ORDERS: usize = 4;

/// The smoothing that replaces the precision of an order without any match.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Smoothing {
    /// The k-th such order gets `100 / (2^k · total)`: sacrebleu's default.
    #[default]
    Exp,
    /// The count 0 becomes this value (sacrebleu uses 0.1).
    Floor(f64),
    /// This value is added to counts and totals of the orders above one (sacrebleu uses 1).
    AddK(f64),
    /// Nothing: the score is 0.
    None,
}

/// Settings of BLEU. The default is sacrebleu's: tokenizer 13a, exp smoothing, case kept.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bleu {
    /// The tokenizer.
    pub tokenizer: BleuTokenizer,
    /// The smoothing.
    pub smoothing: Smoothing,
    /// Texts are lower-cased first.
    pub lowercase: bool,
}

/// A BLEU score and what it is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BleuScore {
    /// BLEU, 0..=100 (100.00000000000004 for equal texts, as sacrebleu).
    pub score: f64,
    /// Smoothed precisions of the orders 1 to 4 in percent; all 0 when nothing matches.
    pub precisions: [f64; ORDERS],
    /// `exp(1 − reference / candidate)` for short candidates, else 1.
    pub brevity_penalty: f64,
    /// Matched n-grams of each order.
    pub counts: [usize; ORDERS],
    /// The candidate's n-grams of each order.
    pub totals: [usize; ORDERS],
    /// Tokens of the candidate.
    pub candidate_length: usize,
    /// Tokens of the references that are closest in length, the shorter at a tie.
    pub reference_length: usize,
}

/// BLEU's counts of one segment; segments add up to a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BleuCounts {
    counts: [usize; ORDERS],
    totals: [usize; ORDERS],
    candidate_length: usize,
    reference_length: usize,
}

impl std::ops::AddAssign for BleuCounts {
    fn add_assign(&mut self, other: Self) {
        for order in 0..ORDERS {
            self.counts[order] += other.counts[order];
            self.totals[order] += other.totals[order];
        }
        self.candidate_length += other.candidate_length;
        self.reference_length += other.reference_length;
    }
}

impl Bleu {
    /// BLEU of one sentence, with effective order: orders longer than the candidate do not count.
    /// `None` without references.
    ///
    /// ```
    /// use karat_scoring::metrics::bleu::Bleu;
    ///
    /// let bleu = Bleu::default();
    /// let score = bleu.sentence("the cat sat on the mat", &["the cat is on the mat"]).unwrap();
    /// assert_eq!(format!("{:.2}", score.score), "37.99");
    /// ```
    #[must_use]
    pub fn sentence<S: AsRef<str>>(&self, candidate: &str, references: &[S]) -> Option<BleuScore> {
        let counts = self.count(candidate, references)?;
        Some(self.score(&counts, EffectiveOrder::Yes))
    }

    /// BLEU of a corpus: the counts of all segments, added up. `None` for a corpus without
    /// segments or with a segment without references.
    ///
    /// ```
    /// use karat_scoring::metrics::bleu::Bleu;
    ///
    /// let corpus = [("a b c d e", ["a b c d e"]), ("x y", ["x z"])];
    /// let pairs = corpus.iter().map(|(candidate, references)| (*candidate, references.as_slice()));
    /// assert!(Bleu::default().corpus(pairs).unwrap().score < 100.0);
    /// ```
    #[must_use]
    pub fn corpus<'a, S: AsRef<str> + 'a>(
        &self,
        segments: impl IntoIterator<Item = (&'a str, &'a [S])>,
    ) -> Option<BleuScore> {
        let mut sum = None;
        for (candidate, references) in segments {
            *sum.get_or_insert_with(BleuCounts::default) += self.count(candidate, references)?;
        }
        sum.map(|counts| self.score_of_counts(&counts))
    }

    /// BLEU's counts of one segment; `None` without references.
    #[must_use]
    pub fn count<S: AsRef<str>>(&self, candidate: &str, references: &[S]) -> Option<BleuCounts> {
        let candidate = self.separate(candidate);
        let references: Vec<_> = references.iter().map(|r| self.separate(r.as_ref())).collect();
        let mut ids = FxHashMap::with_capacity_and_hasher(candidate.len() / 4, FxBuildHasher);
        let candidate = token_ids(&candidate, &mut ids);
        let references: Vec<Vec<u32>> = references.iter().map(|reference| token_ids(reference, &mut ids)).collect();
        let distance = |reference: &&Vec<u32>| (reference.len().abs_diff(candidate.len()), reference.len());
        let closest = references.iter().min_by_key(distance)?.len();
        let slices: Vec<&[u32]> = references.iter().map(Vec::as_slice).collect();
        Some(BleuCounts {
            counts: grams::clipped_matches::<ORDERS>(&candidate, &slices),
            totals: std::array::from_fn(|order| grams::total(candidate.len(), order + 1)),
            candidate_length: candidate.len(),
            reference_length: closest,
        })
    }

    /// The corpus score of summed counts (no effective order).
    #[must_use]
    pub fn score_of_counts(&self, counts: &BleuCounts) -> BleuScore {
        self.score(counts, EffectiveOrder::No)
    }

    /// `text` with white space between its tokens.
    fn separate<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.lowercase {
            Cow::Owned(self.tokenizer.add_spaces(&text.to_lowercase()).into_owned())
        } else {
            self.tokenizer.add_spaces(text)
        }
    }

    fn score(&self, counts: &BleuCounts, effective: EffectiveOrder) -> BleuScore {
        let brevity_penalty = brevity_penalty(counts.candidate_length, counts.reference_length);
        let (precisions, reached) = self.precisions(counts);
        let orders = match effective {
            EffectiveOrder::Yes => reached.max(1),
            EffectiveOrder::No => ORDERS,
        };
        let used = &precisions[..orders];
        let score = if used.contains(&0.0) {
            0.0
        } else {
            let logarithms: f64 = used.iter().map(|precision| precision.ln()).sum();
            brevity_penalty * (logarithms / orders as f64).exp()
        };
        BleuScore {
            score,
            precisions,
            brevity_penalty,
            counts: counts.counts,
            totals: counts.totals,
            candidate_length: counts.candidate_length,
            reference_length: counts.reference_length,
        }
    }

    /// The smoothed precisions in percent, and how many orders the candidate reaches.
    fn precisions(&self, counts: &BleuCounts) -> ([f64; ORDERS], usize) {
        let mut precisions = [0.0; ORDERS];
        if counts.counts.iter().all(|count| *count == 0) {
            return (precisions, 0);
        }
        let mut halvings = 1.0;
        for order in 0..ORDERS {
            let mut count = counts.counts[order] as f64;
            let mut total = counts.totals[order] as f64;
            if let (Smoothing::AddK(k), 1..) = (self.smoothing, order) {
                count += k;
                total += k;
            }
            if total == 0.0 {
                return (precisions, order);
            }
            precisions[order] = match self.smoothing {
                _ if count > 0.0 => 100.0 * count / total,
                Smoothing::Exp => {
                    halvings *= 2.0;
                    100.0 / (halvings * total)
                }
                Smoothing::Floor(value) => 100.0 * value / total,
                Smoothing::AddK(_) | Smoothing::None => 0.0,
            };
        }
        (precisions, ORDERS)
    }

    /// sacrebleu's signature of a sentence score with this many references.
    ///
    /// ```
    /// use karat_scoring::metrics::bleu::Bleu;
    ///
    /// let signature = Bleu::default().sentence_signature(1);
    /// assert!(signature.starts_with("nrefs:1|case:mixed|eff:yes|tok:13a|smooth:exp|version:karat-"));
    /// ```
    #[must_use]
    pub fn sentence_signature(&self, references: usize) -> String {
        self.format_signature(&references.to_string(), EffectiveOrder::Yes)
    }

    /// sacrebleu's signature of a corpus score; `references` per segment, `None` where it varies.
    #[must_use]
    pub fn signature(&self, references: Option<usize>) -> String {
        let references = references.map_or_else(|| "var".to_owned(), |n| n.to_string());
        self.format_signature(&references, EffectiveOrder::No)
    }

    fn format_signature(&self, references: &str, effective: EffectiveOrder) -> String {
        let case = if self.lowercase { "lc" } else { "mixed" };
        let effective = match effective {
            EffectiveOrder::Yes => "yes",
            EffectiveOrder::No => "no",
        };
        let smoothing = match self.smoothing {
            Smoothing::Exp => "exp".to_owned(),
            Smoothing::Floor(value) => format!("floor[{value:.2}]"),
            Smoothing::AddK(value) => format!("add-k[{value:.2}]"),
            Smoothing::None => "none".to_owned(),
        };
        let tokenizer = self.tokenizer.name();
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "nrefs:{references}|case:{case}|eff:{effective}|tok:{tokenizer}|smooth:{smoothing}|version:karat-{version}"
        )
    }
}

/// The words of `text` as numbers, the same for equal words.
fn token_ids<'a>(text: &'a str, ids: &mut FxHashMap<&'a str, u32>) -> Vec<u32> {
    let id = |token| {
        let next = ids.len() as u32;
        *ids.entry(token).or_insert(next)
    };
    split_spaces(text).map(id).collect()
}

/// The treatment of orders longer than the candidate.
#[derive(Clone, Copy)]
enum EffectiveOrder {
    Yes,
    No,
}

fn brevity_penalty(candidate: usize, reference: usize) -> f64 {
    if candidate >= reference {
        1.0
    } else if candidate == 0 {
        0.0
    } else {
        (1.0 - reference as f64 / candidate as f64).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(candidate: &str, references: &[&str]) -> BleuScore {
        Bleu::default().sentence(candidate, references).unwrap()
    }

    fn near(actual: [f64; ORDERS], expected: [f64; ORDERS]) -> bool {
        actual.iter().zip(expected).all(|(a, e)| (a - e).abs() < 1e-9)
    }

    #[test]
    fn sentence_scores_equal_sacrebleu_s() {
        let score = sentence("The quick brown dog jumps on the log.", &["The quick brown fox jumps over the lazy dog"]);
        assert!((score.score - 21.105_340_631_872_63).abs() < 1e-9);
        assert_eq!(score.counts, [6, 2, 1, 0]);
        let short = sentence("the", &["the the the"]);
        assert!((short.score - 13.533_528_323_661_276).abs() < 1e-9);
    }

    #[test]
    fn nothing_in_common_is_zero_without_smoothing() {
        for (candidate, reference) in [("", ""), ("", "a b"), ("a", ""), ("x y", "a b")] {
            let score = sentence(candidate, &[reference]);
            assert!(score.score.abs() < 1e-12 && near(score.precisions, [0.0; 4]));
        }
    }

    #[test]
    fn the_closest_reference_length_counts_and_the_shorter_wins_ties() {
        let score = sentence("a b c", &["a b c d e", "a", "a b"]);
        assert_eq!(score.reference_length, 2);
        let tie = sentence("a b c", &["a b c d", "a b"]);
        assert_eq!(tie.reference_length, 2);
        assert_eq!(Bleu::default().sentence::<&str>("a", &[]), None);
    }

    #[test]
    fn smoothing_changes_only_orders_without_a_match() {
        let score = |smoothing| {
            let bleu = Bleu { smoothing, ..Bleu::default() };
            bleu.sentence("a b x d e", &["a b c d e"]).unwrap().precisions
        };
        assert!(near(score(Smoothing::Exp), [80.0, 50.0, 100.0 / 6.0, 12.5]));
        assert!(near(score(Smoothing::Floor(0.1)), [80.0, 50.0, 10.0 / 3.0, 5.0]));
        assert!(near(score(Smoothing::AddK(1.0)), [80.0, 60.0, 25.0, 100.0 / 3.0]));
        assert!(near(score(Smoothing::None), [80.0, 50.0, 0.0, 0.0]));
    }

    #[test]
    fn a_corpus_is_more_than_the_mean_of_its_sentences() {
        let references = [["a b c d e f"], ["g h"]];
        let candidates = ["a b c d e f", "g x"];
        let segments = candidates.into_iter().zip(references.iter().map(|r| r.as_slice()));
        let corpus = Bleu::default().corpus(segments).unwrap();
        assert_eq!(corpus.totals, [8, 6, 4, 3]);
        assert_eq!(corpus.counts, [7, 5, 4, 3]);
        let nothing: [(&str, &[&str]); 0] = [];
        assert_eq!(Bleu::default().corpus(nothing), None);
    }

    #[test]
    fn lower_casing_is_an_option_in_the_signature() {
        let bleu = Bleu { lowercase: true, ..Bleu::default() };
        assert!(bleu.sentence("A B", &["a b"]).unwrap().score > 99.0);
        assert!(bleu.signature(None).starts_with("nrefs:var|case:lc|eff:no|tok:13a|smooth:exp|"));
    }
}
