//! Metrics of texts, the tokenizer, and pieces of texts.

use karat_scoring::metrics::bleu::{Bleu, BleuTokenizer, Smoothing};
use karat_scoring::metrics::chrf::Chrf;
use karat_scoring::metrics::rouge::{Rouge, RougeTokens, RougeType};
use karat_scoring::metrics::set_f1::{SetMatcher, Similarity};
use karat_scoring::metrics::squad::{self, EmptyRule};
use karat_scoring::metrics::tokenize::porter;
use karat_scoring::metrics::{edit, json};
use karat_text::chunking::chunk;
use karat_text::chunking::tokens::Tokenizer;
use karat_text::similar;

use super::pair;

/// Rounding of sums in another order.
const ROUNDING: f64 = 1e-9;

/// Scores two texts in both directions.
pub fn run(data: &[u8]) {
    let (a, b) = pair(data);
    check_edits(&a, &b);
    check_similarity(&a, &b);
    check_rouge(&a, &b);
    check_grams(&a, &b);
    check_sets(&a, &b);
    check_tokens(&a);
    for word in a.split_whitespace() {
        assert!(porter::stem(word).len() <= word.len().max(word.to_lowercase().len()) + 1);
    }
    json::values_within(&a).for_each(drop);
}

fn share(value: f64) -> f64 {
    assert!((0.0..=1.0).contains(&value), "{value} is not a share");
    value
}

fn same(one: f64, other: f64) {
    assert!((one - other).abs() <= ROUNDING, "{one} is not {other}");
}

fn check_edits(a: &str, b: &str) {
    let (m, n) = (a.chars().count(), b.chars().count());
    let distance = edit::levenshtein_distance(a, b);
    assert_eq!(distance, edit::levenshtein_distance(b, a));
    assert!(distance <= m.max(n) && distance >= m.abs_diff(n));
    assert_eq!(distance == 0, a == b);
    let common = edit::lcs_length(a, b);
    assert_eq!(common, edit::lcs_length(b, a));
    assert!(common <= m.min(n) && m.max(n) - common <= distance && distance <= m + n - 2 * common);
    let indel = share(edit::indel_ratio(a, b));
    same(indel, if m + n == 0 { 1.0 } else { 2.0 * common as f64 / (m + n) as f64 });
    for ratio in [edit::levenshtein_ratio, edit::indel_ratio, edit::jaccard_words, edit::jaccard_alphanumeric] {
        same(share(ratio(a, b)), ratio(b, a));
        same(ratio(a, a), 1.0);
    }
}

fn check_similarity(a: &str, b: &str) {
    same(share(similar::similarity(a, b)), similar::similarity(b, a));
    same(similar::similarity(a, a), 1.0);
    let (one, other) = (similar::Folded::new(a), similar::Folded::new(b));
    for threshold in [0.0, 0.5, 0.9, 1.0] {
        assert_eq!(one.is_similar(&other, threshold), one.similarity(&other) >= threshold);
    }
    same(
        share(squad::token_f1(a, &[b], EmptyRule::V2).unwrap_or(-1.0)),
        squad::token_f1(b, &[a], EmptyRule::V2).unwrap_or(-1.0),
    );
    if squad::exact_match(a, &[b]) == Some(true) {
        same(squad::token_f1(a, &[b], EmptyRule::V2).unwrap_or(-1.0), 1.0);
    }
}

fn check_rouge(a: &str, b: &str) {
    for tokens in [RougeTokens::Ascii, RougeTokens::Unicode] {
        let rouge = Rouge { stem: tokens == RougeTokens::Ascii, tokens };
        for kind in [RougeType::One, RougeType::Two, RougeType::L, RougeType::Lsum] {
            let (there, back) = (rouge.score(kind, a, b), rouge.score(kind, b, a));
            for value in [there.precision, there.recall, there.f1] {
                share(value);
            }
            // The union of Lsum is of the reference's lines, so it has a direction.
            if kind != RougeType::Lsum {
                same(there.precision, back.recall);
                same(there.f1, back.f1);
            }
        }
    }
}

fn check_grams(a: &str, b: &str) {
    let tokenizers =
        [BleuTokenizer::V13a, BleuTokenizer::Intl, BleuTokenizer::Zh, BleuTokenizer::Char, BleuTokenizer::None];
    for tokenizer in tokenizers {
        for smoothing in [Smoothing::Exp, Smoothing::AddK(1.0), Smoothing::None] {
            let bleu = Bleu { tokenizer, smoothing, lowercase: smoothing == Smoothing::None };
            let Some(score) = bleu.sentence(a, &[b]) else { panic!("a score needs only a reference") };
            assert!((0.0..=100.0 + ROUNDING).contains(&score.score), "{score:?}");
            assert!((0.0..=1.0).contains(&score.brevity_penalty), "{score:?}");
            assert!(score.counts.iter().zip(score.totals).all(|(count, total)| *count <= total), "{score:?}");
        }
    }
    for chrf in [Chrf::default(), Chrf { lowercase: true, ..Chrf::plus_plus() }] {
        let Some(score) = chrf.sentence(a, &[b]) else { panic!("a score needs only a reference") };
        assert!((0.0..=100.0 + ROUNDING).contains(&score), "{score}");
    }
}

fn check_sets(a: &str, b: &str) {
    let (one, other): (Vec<&str>, Vec<&str>) = (a.lines().take(12).collect(), b.lines().take(12).collect());
    for similarity in [Similarity::Indel, Similarity::Levenshtein, Similarity::Jaccard, Similarity::TokenF1] {
        let matcher = SetMatcher { similarity, threshold: 0.6 };
        let (there, back) = (matcher.compare(&one, &other), matcher.compare(&other, &one));
        assert_eq!(there.pairs.len(), back.pairs.len(), "the largest matching has one size");
        same(share(there.f1), back.f1);
        there.precision.into_iter().chain(there.recall).for_each(|value| {
            share(value);
        });
    }
}

fn check_tokens(text: &str) {
    let tokenizer = Tokenizer::plan();
    let ends = tokenizer.ends(text);
    let count = tokenizer.count(text);
    assert_eq!(ends.len(), count, "each token ends");
    assert_eq!(ends.last().copied().unwrap_or(0), text.len(), "tokens are the text");
    assert!(ends.is_sorted());
    assert!(tokenizer.fits(text, count) && (count == 0 || !tokenizer.fits(text, count - 1) || text.len() < count));
    for (size, overlap) in [(1, 0), (7, 3), (64, 8)] {
        let pieces = chunk::by_tokens(text, size, overlap, None).pieces;
        let mut covered = 0;
        for piece in &pieces {
            assert_eq!(text.get(piece.start..piece.end), Some(piece.text.as_str()));
            assert!(piece.start <= covered && piece.end > covered, "pieces leave nothing out and go on");
            covered = piece.end;
        }
        assert_eq!(covered, text.len(), "pieces are the text");
    }
}
