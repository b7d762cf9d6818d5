//! Similarity of two texts by edits and by shared words. Units are Unicode code points.

use std::collections::BTreeSet;

use rapidfuzz::distance::{indel, lcs_seq, levenshtein};

use super::tokenize::tokens::split_spaces;
use super::tokenize::words::Words;

/// The smallest number of insertions, deletions and substitutions that turns `a` into `b`.
///
/// ```
/// use karat_scoring::metrics::edit;
///
/// assert_eq!(edit::levenshtein_distance("kitten", "sitting"), 3);
/// ```
#[must_use]
pub fn levenshtein_distance(a: &str, b: &str) -> usize {
    // The hint makes rapidfuzz try narrow bands first: near-equal texts of a megabyte take
    // milliseconds instead of minutes.
    let near = levenshtein::Args::default().score_hint(31);
    if a.is_ascii() && b.is_ascii() {
        levenshtein::distance_with_args(a.bytes(), b.bytes(), &near)
    } else {
        levenshtein::distance_with_args(a.chars(), b.chars(), &near)
    }
}

/// `1 − distance / longer length`, in 0..=1; two empty texts are equal (1).
///
/// Not the same as [`indel_ratio`], which other libraries call *Levenshtein ratio*.
///
/// ```
/// use karat_scoring::metrics::edit;
///
/// assert_eq!(edit::levenshtein_ratio("abcd", "abcx"), 0.75);
/// ```
#[must_use]
pub fn levenshtein_ratio(a: &str, b: &str) -> f64 {
    let longer = a.chars().count().max(b.chars().count());
    similarity(levenshtein_distance(a, b), longer)
}

/// `1 − (insertions + deletions) / (both lengths)`, in 0..=1: the `ratio` of rapidfuzz and
/// python-Levenshtein. A substitution costs two. Two empty texts are equal (1).
///
/// ```
/// use karat_scoring::metrics::edit;
///
/// assert_eq!(edit::indel_ratio("ab", "ax"), 0.5);
/// ```
#[must_use]
pub fn indel_ratio(a: &str, b: &str) -> f64 {
    let distance = if a.is_ascii() && b.is_ascii() {
        indel::distance(a.bytes(), b.bytes())
    } else {
        indel::distance(a.chars(), b.chars())
    };
    similarity(distance, a.chars().count() + b.chars().count())
}

/// The length of the longest common subsequence of code points.
#[must_use]
pub fn lcs_length(a: &str, b: &str) -> usize {
    lcs_seq::similarity(a.chars(), b.chars())
}

/// Jaccard similarity `|A ∩ B| / |A ∪ B|` of the sets of lower-cased words between white space;
/// two texts without words are equal (1).
///
/// ```
/// use karat_scoring::metrics::edit;
///
/// assert_eq!(edit::jaccard_words("a b", "B c"), 1.0 / 3.0);
/// ```
#[must_use]
pub fn jaccard_words(a: &str, b: &str) -> f64 {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    jaccard(split_spaces(&a).collect(), split_spaces(&b).collect())
}

/// Jaccard similarity of the sets of lower-cased runs of Unicode letters and digits;
/// two texts without any are equal (1).
///
/// ```
/// use karat_scoring::metrics::edit;
///
/// assert_eq!(edit::jaccard_alphanumeric("e-mail sent!", "E mail: sent"), 1.0);
/// ```
#[must_use]
pub fn jaccard_alphanumeric(a: &str, b: &str) -> f64 {
    Words::of(a).overlap(&Words::of(b)).jaccard()
}

fn jaccard(a: BTreeSet<&str>, b: BTreeSet<&str>) -> f64 {
    let common = a.intersection(&b).count();
    let union = a.len() + b.len() - common;
    if union == 0 { 1.0 } else { common as f64 / union as f64 }
}

fn similarity(distance: usize, largest: usize) -> f64 {
    if largest == 0 { 1.0 } else { 1.0 - distance as f64 / largest as f64 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain_levenshtein(a: &[char], b: &[char]) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let mut diagonal = row[0];
            row[0] = i + 1;
            for (j, y) in b.iter().enumerate() {
                let substituted = diagonal + usize::from(x != y);
                diagonal = row[j + 1];
                row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
            }
        }
        row[b.len()]
    }

    proptest! {
        #[test]
        fn levenshtein_equals_the_textbook_table(a in "[abé東👍]{0,90}", b in "[abé東👍]{0,90}") {
            let (x, y): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            prop_assert_eq!(levenshtein_distance(&a, &b), plain_levenshtein(&x, &y));
        }

        #[test]
        fn indel_and_lcs_are_two_sides_of_one_count(a in "[a-cé]{0,80}", b in "[a-cé]{0,80}") {
            let total = a.chars().count() + b.chars().count();
            let common = 2 * lcs_length(&a, &b);
            let expected = if total == 0 { 1.0 } else { common as f64 / total as f64 };
            prop_assert!((indel_ratio(&a, &b) - expected).abs() < 1e-12);
        }

        #[test]
        fn similarities_are_symmetric_and_bounded(a in ".{0,30}", b in ".{0,30}") {
            for f in [levenshtein_ratio, indel_ratio, jaccard_words, jaccard_alphanumeric] {
                let (there, back) = (f(&a, &b), f(&b, &a));
                prop_assert!((there - back).abs() < 1e-12);
                prop_assert!((0.0..=1.0).contains(&there));
                prop_assert!((f(&a, &a) - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn ratios_with_different_names_differ() {
        let (a, b) = ("UPPER lower MiXeD", "upper LOWER mixed");
        assert!((levenshtein_ratio(a, b) - 0.235_294_117_647_058_88).abs() < 1e-12);
        assert!((indel_ratio(a, b) - 0.294_117_647_058_823_5).abs() < 1e-12);
    }

    #[test]
    fn a_megabyte_with_a_few_edits_is_quick() {
        let a = "lorem ipsum dolor ".repeat(60_000);
        let b = a.replacen("ipsum", "ipsam", 3);
        assert_eq!(levenshtein_distance(&a, &b), 3);
    }
}
