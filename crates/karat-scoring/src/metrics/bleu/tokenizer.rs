//! The tokenizers of BLEU.

use std::borrow::Cow;

use crate::metrics::tokens::{is_space, split_spaces};

/// How BLEU cuts a text into tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BleuTokenizer {
    /// mteval-v13a, as in WMT: sacrebleu's default.
    #[default]
    V13a,
    /// Each code point that is not white space: for scripts without spaces.
    Char,
    /// At white space only.
    None,
}

impl BleuTokenizer {
    /// The name in sacrebleu's signature.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::V13a => "13a",
            Self::Char => "char",
            Self::None => "none",
        }
    }

    /// The tokens of `text`.
    ///
    /// ```
    /// use karat_scoring::metrics::bleu::BleuTokenizer;
    ///
    /// let tokens = BleuTokenizer::V13a.tokens("It costs $3.50, sir.");
    /// assert_eq!(tokens, ["It", "costs", "$", "3.50", ",", "sir", "."]);
    /// ```
    #[must_use]
    pub fn tokens(self, text: &str) -> Vec<String> {
        let spaced = self.spaced(text);
        split_spaces(&spaced).map(str::to_owned).collect()
    }

    /// `text` with white space between its tokens.
    pub(super) fn spaced(self, text: &str) -> Cow<'_, str> {
        let text = text.trim_end_matches(is_space);
        match self {
            Self::V13a => Cow::Owned(spaced_13a(text)),
            Self::Char => Cow::Owned(text.chars().flat_map(|c| [c, ' ']).collect()),
            Self::None => Cow::Borrowed(text),
        }
    }
}

/// `text` with spaces around the tokens of mteval-v13a.
///
/// The three passes after the first are the regular expressions of the original, which consume
/// what they match: of ".." after a digit only one full stop sees that digit.
fn spaced_13a(text: &str) -> String {
    let text = unescaped(text);
    let mut spaced = String::with_capacity(2 * text.len() + 2);
    spaced.push(' ');
    for c in text.chars() {
        if is_symbol(c) {
            spaced.extend([' ', c, ' ']);
        } else {
            spaced.push(c);
        }
    }
    spaced.push(' ');
    let points = |c| matches!(c, '.' | ',');
    // ([^0-9])([.,]) → \1 \2 followed by a space
    let spaced = replace_pairs(&spaced, |a, b| !a.is_ascii_digit() && points(b), ["", " ", " "]);
    // ([.,])([^0-9]) → a space, \1 \2
    let spaced = replace_pairs(&spaced, |a, b| points(a) && !b.is_ascii_digit(), [" ", " ", ""]);
    // ([0-9])(-) → \1 \2 followed by a space
    replace_pairs(&spaced, |a, b| a.is_ascii_digit() && b == '-', ["", " ", " "])
}

fn unescaped(text: &str) -> Cow<'_, str> {
    let replacements =
        [("<skipped>", ""), ("-\n", ""), ("\n", " "), ("&quot;", "\""), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")];
    let mut text = Cow::Borrowed(text);
    for (from, to) in replacements {
        if text.contains(from) {
            text = Cow::Owned(text.replace(from, to));
        }
    }
    text
}

/// ASCII punctuation that is always a token: all but apostrophe, comma, hyphen and full stop.
fn is_symbol(c: char) -> bool {
    c.is_ascii_punctuation() && !matches!(c, '\'' | ',' | '-' | '.')
}

/// Replaces the non-overlapping pairs of neighbours that `matches`, from the left, by themselves
/// with `around` before, between and after.
fn replace_pairs(text: &str, matches: impl Fn(char, char) -> bool, around: [&str; 3]) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut characters = text.chars().peekable();
    while let Some(first) = characters.next() {
        match characters.next_if(|second| matches(first, *second)) {
            Some(second) => {
                out.push_str(around[0]);
                out.push(first);
                out.push_str(around[1]);
                out.push(second);
                out.push_str(around[2]);
            }
            None => out.push(first),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> String {
        BleuTokenizer::V13a.tokens(text).join(" ")
    }

    #[test]
    fn v13a_keeps_numbers_whole_and_separates_punctuation() {
        assert_eq!(tokens("$1,299.50 on 2024-03-01."), "$ 1,299.50 on 2024 - 03 - 01 .");
        assert_eq!(tokens("AT&amp;T said &quot;yes&quot;"), "AT & T said \" yes \"");
        assert_eq!(tokens("don't co-operate"), "don't co-operate");
        assert_eq!(tokens("hyphen-\nated <skipped>line\nbreak"), "hyphenated line break");
        assert_eq!(tokens(""), "");
    }

    #[test]
    fn v13a_consumes_what_it_matches() {
        assert_eq!(tokens("a..5"), "a . .5");
        assert_eq!(tokens("..."), ". . .");
        assert_eq!(tokens("3.,x"), "3 . , x");
        assert_eq!(tokens("東京。é,"), "東京。é ,");
    }

    #[test]
    fn other_tokenizers_cut_at_spaces_or_everywhere() {
        assert_eq!(BleuTokenizer::None.tokens(" a.b  c "), ["a.b", "c"]);
        assert_eq!(BleuTokenizer::Char.tokens("東 é"), ["東", "é"]);
    }
}
