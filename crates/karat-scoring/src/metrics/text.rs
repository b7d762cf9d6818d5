//! Plain comparisons of texts: equal, contains, matches a pattern, how long.

use std::borrow::Cow;

use regex::RegexBuilder;
use thiserror::Error;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use super::squad;
use super::tokenize::tokens::{fold_case, is_unspaced, split_spaces};

/// Equality of two texts. The default compares them as they are.
///
/// ```
/// use karat_scoring::metrics::text::Exact;
///
/// assert!(!Exact::default().matches(" Yes", "yes"));
/// let lenient = Exact { ignore_case: true, trim: true, ..Exact::default() };
/// assert!(lenient.matches(" Yes", "yes"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exact {
    /// Upper and lower case are the same, in every script.
    pub ignore_case: bool,
    /// White space at both ends does not count.
    pub trim: bool,
    /// Texts are brought to Unicode NFKC and runs of white space count as one space.
    pub normalize: bool,
    /// Texts are brought to the normal form of SQuAD's exact match; see [`squad::normalize`].
    pub squad: bool,
    /// It is enough that the output begins with the reference. An empty reference begins no text but the empty one.
    pub prefix: bool,
}

impl Exact {
    /// True if the texts are equal under these options, or the output begins with the reference where that is enough.
    #[must_use]
    pub fn matches(&self, output: &str, reference: &str) -> bool {
        let (output, reference) = (self.fold(output), self.fold(reference));
        output == reference || self.prefix && !reference.is_empty() && output.starts_with(&*reference)
    }

    /// The form of `text` that is compared.
    #[must_use]
    pub fn fold<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut folded = Cow::Borrowed(if self.trim { text.trim() } else { text });
        if self.normalize {
            folded = Cow::Owned(normalize(&folded));
        }
        if self.ignore_case {
            folded = Cow::Owned(fold_case(&folded));
        }
        if self.squad {
            folded = Cow::Owned(squad::normalize(&folded));
        }
        folded
    }
}

/// NFKC with every run of white space as one space; spaces at the ends are kept as one, too.
fn normalize(text: &str) -> String {
    let composed: String = text.nfkc().collect();
    let mut out = String::with_capacity(composed.len());
    for c in composed.chars() {
        match (c.is_whitespace(), out.ends_with(' ')) {
            (true, true) => {}
            (true, false) => out.push(' '),
            (false, _) => out.push(c),
        }
    }
    out
}

/// The number of phrases that a text must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Need {
    /// Every phrase.
    #[default]
    All,
    /// At least one phrase.
    Any,
}

/// Tests that a text contains phrases.
///
/// ```
/// use karat_scoring::metrics::text::{Contains, Need};
///
/// let all = Contains { ignore_case: true, ..Contains::default() };
/// assert_eq!(all.matches("Refund within 14 days.", &["refund", "14 days"]), Some(true));
/// assert_eq!(all.missing("Refund within 14 days.", &["refund", "30 days"]), ["30 days"]);
/// let any = Contains { need: Need::Any, ..all };
/// assert_eq!(any.matches("Refund within 14 days.", &["refund", "30 days"]), Some(true));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Contains {
    /// Upper and lower case are the same, in every script.
    pub ignore_case: bool,
    /// The phrases that are needed: any or all.
    pub need: Need,
    /// Texts are brought to the normal form of SQuAD's exact match; see [`squad::normalize`].
    pub squad: bool,
    /// A phrase that holds the whole output counts as contained, too.
    pub either: bool,
}

impl Contains {
    /// True if `output` contains the phrases as needed; `None` when there is no phrase.
    ///
    /// The empty phrase is contained in every text.
    #[must_use]
    pub fn matches<S: AsRef<str>>(&self, output: &str, phrases: &[S]) -> Option<bool> {
        if phrases.is_empty() {
            return None;
        }
        let missing = self.missing(output, phrases).len();
        Some(match self.need {
            Need::All => missing == 0,
            Need::Any => missing < phrases.len(),
        })
    }

    /// The phrases that `output` does not contain, in their order.
    #[must_use]
    pub fn missing<'a, S: AsRef<str>>(&self, output: &str, phrases: &'a [S]) -> Vec<&'a str> {
        let output = self.fold(output);
        let absent = |phrase: &&str| {
            let phrase = self.fold(phrase);
            // Every text holds an empty one, which the normal form can leave of an article and an output can be.
            if (self.squad && phrase.is_empty()) || (self.either && output.is_empty()) {
                return output != phrase;
            }
            !(output.contains(&*phrase) || self.either && phrase.contains(&*output))
        };
        phrases.iter().map(AsRef::as_ref).filter(absent).collect()
    }

    fn fold<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match (self.squad, self.ignore_case) {
            (true, _) => Cow::Owned(squad::normalize(text)),
            (false, true) => Cow::Owned(fold_case(text)),
            (false, false) => Cow::Borrowed(text),
        }
    }
}

/// The largest compiled pattern, in bytes.
const PATTERN_SIZE_LIMIT: usize = 1 << 20;

/// A regular expression, compiled once; matching takes linear time whatever the pattern.
///
/// ```
/// use karat_scoring::metrics::text::Pattern;
///
/// let order = Pattern::new(r"ORD-\d{4}")?;
/// assert!(order.matches("Your order ORD-1234 has left."));
/// assert_eq!(order.find("Your order ORD-1234 has left."), Some(11..19));
/// # Ok::<(), karat_scoring::metrics::text::PatternError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pattern(regex::Regex);

/// A pattern that cannot be used.
#[derive(Debug, Clone, Error)]
#[error("compiling the pattern {pattern:?}: {reason}; look-around and back-references are not supported")]
pub struct PatternError {
    pattern: String,
    reason: String,
}

impl Pattern {
    /// Compiles `pattern` (syntax of the `regex` crate; flags inline as `(?i)`).
    ///
    /// # Errors
    /// When it is not a pattern, or larger than 1 MiB once compiled.
    pub fn new(pattern: &str) -> Result<Self, PatternError> {
        let compiled = RegexBuilder::new(pattern).size_limit(PATTERN_SIZE_LIMIT).build();
        compiled.map(Self).map_err(|error| PatternError { pattern: pattern.to_owned(), reason: error.to_string() })
    }

    /// True if the pattern matches anywhere in `text`.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// The byte range of the leftmost match in `text`.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<std::ops::Range<usize>> {
        self.0.find(text).map(|found| found.range())
    }
}

/// The unit of a length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LengthUnit {
    /// Unicode code points.
    #[default]
    Chars,
    /// Runs of non-whitespace that hold a letter or digit; in scripts without spaces the words of
    /// Unicode's segmentation (UAX 29).
    Words,
    /// Bytes of the UTF-8 form.
    Bytes,
}

/// The length of `text` in `unit`s.
///
/// ```
/// use karat_scoring::metrics::text::{LengthUnit, length};
///
/// assert_eq!(length("état-major, 東京", LengthUnit::Chars), 14);
/// assert_eq!(length("état-major, 東京", LengthUnit::Words), 3);
/// assert_eq!(length("état-major, 東京", LengthUnit::Bytes), 19);
/// ```
#[must_use]
pub fn length(text: &str, unit: LengthUnit) -> usize {
    match unit {
        LengthUnit::Chars => text.chars().count(),
        LengthUnit::Words => split_spaces(text).map(words_of_run).sum(),
        LengthUnit::Bytes => text.len(),
    }
}

fn words_of_run(run: &str) -> usize {
    if run.chars().any(is_unspaced) {
        run.unicode_words().count()
    } else {
        usize::from(run.chars().any(char::is_alphanumeric))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_is_exact_until_told_otherwise() {
        let plain = Exact::default();
        assert!(plain.matches("", ""));
        assert!(!plain.matches("a", "A"));
        assert!(!plain.matches("e\u{301}", "é"));
    }

    #[test]
    fn exact_options_work_alone_and_together() {
        let case = Exact { ignore_case: true, ..Exact::default() };
        assert!(case.matches("Straße ΟΔΟΣ", "STRASSE οδος"));
        let normal = Exact { normalize: true, ..Exact::default() };
        assert!(normal.matches("ﬁve\u{a0} \n e\u{301}", "five é"));
        assert!(!normal.matches(" a", "a"));
        let all = Exact { ignore_case: true, trim: true, normalize: true, ..Exact::default() };
        assert!(all.matches(" ４２\tKG ", "42 kg"));
        let squad = Exact { squad: true, ..Exact::default() };
        assert!(squad.matches("The Eiffel  Tower.", "eiffel tower") && !squad.matches("Eiffel", "eiffel tower"));
    }

    #[test]
    fn contains_needs_all_or_any_and_names_the_missing() {
        let all = Contains::default();
        assert_eq!(all.matches("abc", &["a", "c"]), Some(true));
        assert_eq!(all.matches("abc", &["a", "C"]), Some(false));
        assert_eq!(all.missing("abc", &["x", "a", "y"]), ["x", "y"]);
        assert_eq!(all.matches::<&str>("abc", &[]), None);
        let any = Contains { need: Need::Any, ignore_case: true, ..Contains::default() };
        assert_eq!(any.matches("abc", &["x", "B"]), Some(true));
        assert_eq!(any.matches("abc", &["x"]), Some(false));
        assert_eq!(any.matches("", &[""]), Some(true));
    }

    #[test]
    fn a_bad_or_huge_pattern_is_an_error_that_says_so() {
        let error = Pattern::new("(a").unwrap_err().to_string();
        assert!(error.starts_with("compiling the pattern \"(a\""), "{error}");
        assert!(Pattern::new(r"\w{5000}{500}").is_err());
    }

    #[test]
    fn patterns_are_unicode_and_positions_are_bytes() {
        let pattern = Pattern::new(r"(?i)straße|\p{Han}+").unwrap();
        assert!(pattern.matches("STRAßE"));
        assert_eq!(pattern.find("é 東京"), Some(3..9));
        assert_eq!(pattern.find("none"), None);
    }

    #[test]
    fn length_counts_words_in_every_script() {
        let words = |text| length(text, LengthUnit::Words);
        assert_eq!(words(""), 0);
        assert_eq!(words(" \n"), 0);
        assert_eq!(words("state-of-the-art — don't!"), 2);
        assert_eq!(words("東京 Tokyo"), 3);
        assert_eq!(words("👍 ok"), 1);
        assert_eq!(length("👍🏽", LengthUnit::Chars), 2);
        assert_eq!(length("👍🏽", LengthUnit::Bytes), 8);
    }
}
