//! Exact match and token F1 as in SQuAD's official evaluation scripts.

use rustc_hash::FxHashMap;

use super::overlap::harmonic_mean;
use super::tokenize::tokens::{is_word_character, split_spaces};

/// The token F1 of an answer that has no token left after normalisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EmptyRule {
    /// SQuAD 1.1: no common token is 0, even if both answers are empty.
    V1,
    /// SQuAD 2.0: 1 when both answers are empty, else 0.
    #[default]
    V2,
}

/// SQuAD's normal form of an answer: lower case, without ASCII punctuation (no space in its
/// place, so "3.14" becomes "314"), without the words a, an, the, with single spaces.
///
/// ```
/// use karat_scoring::metrics::squad;
///
/// assert_eq!(squad::normalize("The U.S.A., again"), "usa again");
/// ```
#[must_use]
pub fn normalize(answer: &str) -> String {
    let bare: String = answer.to_lowercase().chars().filter(|c| !c.is_ascii_punctuation()).collect();
    let words = without_articles(&bare);
    let mut out = String::with_capacity(words.len());
    for word in split_spaces(&words) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// `text` with a, an and the replaced by a space where they stand between word boundaries.
fn without_articles(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for run in WordRuns(text) {
        match run {
            "a" | "an" | "the" => out.push(' '),
            other => out.push_str(other),
        }
    }
    out
}

/// The maximal runs of word characters and of other characters, in turn.
struct WordRuns<'a>(&'a str);

impl<'a> Iterator for WordRuns<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let in_word = is_word_character(self.0.chars().next()?);
        let end = self.0.find(|c| is_word_character(c) != in_word);
        let (run, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        Some(run)
    }
}

/// True if the prediction equals any reference after [`normalize`]; `None` without references.
///
/// ```
/// use karat_scoring::metrics::squad;
///
/// assert_eq!(squad::exact_match("The Eiffel Tower", &["Louvre", "eiffel tower"]), Some(true));
/// ```
#[must_use]
pub fn exact_match<S: AsRef<str>>(prediction: &str, references: &[S]) -> Option<bool> {
    let prediction = normalize(prediction);
    let equal = |reference: &S| normalize(reference.as_ref()) == prediction;
    (!references.is_empty()).then(|| references.iter().any(equal))
}

/// The best token F1 of the prediction over the references, in 0..=1; `None` without references.
///
/// Tokens are the words of the [`normalize`]d answers, counted with multiplicity.
///
/// ```
/// use karat_scoring::metrics::squad::{self, EmptyRule};
///
/// let f1 = squad::token_f1("in Paris, France", &["Paris"], EmptyRule::V2);
/// assert_eq!(f1, Some(0.5));
/// ```
#[must_use]
pub fn token_f1<S: AsRef<str>>(prediction: &str, references: &[S], empty: EmptyRule) -> Option<f64> {
    let prediction = normalize(prediction);
    references
        .iter()
        .map(|reference| f1_of_normalized(&prediction, &normalize(reference.as_ref()), empty))
        .max_by(f64::total_cmp)
}

fn f1_of_normalized(prediction: &str, reference: &str, empty: EmptyRule) -> f64 {
    if empty == EmptyRule::V2 && (prediction.is_empty() || reference.is_empty()) {
        return f64::from(u8::from(prediction == reference));
    }
    let mut open: FxHashMap<&str, usize> = FxHashMap::default();
    let mut wanted = 0;
    for word in reference.split_terminator(' ') {
        *open.entry(word).or_default() += 1;
        wanted += 1;
    }
    let mut given = 0;
    let mut common = 0;
    for word in prediction.split_terminator(' ') {
        given += 1;
        if let Some(left) = open.get_mut(word).filter(|left| **left > 0) {
            *left -= 1;
            common += 1;
        }
    }
    if common == 0 {
        return 0.0;
    }
    harmonic_mean(f64::from(common) / f64::from(given), f64::from(common) / f64::from(wanted))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn normalisation_follows_the_official_script() {
        for (answer, expected) in [
            ("", ""),
            ("a the an", ""),
            ("42,000", "42000"),
            ("thea theory", "thea theory"),
            ("“quoted” answer", "“quoted” answer"),
            ("a\u{301}rbol the-a", "\u{301}rbol thea"),
            ("İstanbul", "i\u{307}stanbul"),
            ("the—a—b", "— —b"),
        ] {
            assert_eq!(normalize(answer), expected, "{answer}");
        }
    }

    #[test]
    fn the_empty_rule_is_named() {
        assert_eq!(token_f1("", &[""], EmptyRule::V1), Some(0.0));
        assert_eq!(token_f1("the", &["a"], EmptyRule::V2), Some(1.0));
        assert_eq!(token_f1("", &["x"], EmptyRule::V2), Some(0.0));
    }

    #[test]
    fn the_best_reference_counts_and_none_is_undefined() {
        assert_eq!(token_f1("a b c", &["x", "b c", "b"], EmptyRule::V2), Some(1.0));
        assert_eq!(token_f1::<&str>("b", &[], EmptyRule::V2), None);
        assert_eq!(exact_match::<&str>("b", &[]), None);
        assert_eq!(exact_match("yes", &["no", "YES!"]), Some(true));
    }

    proptest! {
        #[test]
        fn f1_is_symmetric_and_bounded(a in "[a-c ,.é]{0,20}", b in "[a-c ,.é]{0,20}") {
            let f1 = token_f1(&a, &[&b], EmptyRule::V2).unwrap();
            prop_assert!((0.0..=1.0).contains(&f1));
            prop_assert_eq!(Some(f1), token_f1(&b, &[&a], EmptyRule::V2));
        }
    }
}
