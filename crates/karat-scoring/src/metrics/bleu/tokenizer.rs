//! The tokenizers of BLEU.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use unicode_general_category::{GeneralCategory as G, get_general_category};

use crate::metrics::tokenize::tokens::{is_space, split_spaces};

/// BLEU's tokenizers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BleuTokenizer {
    /// mteval-v13a, as in WMT: sacrebleu's default.
    #[default]
    V13a,
    /// mteval-v14's international tokens: punctuation and symbols of every script stand alone.
    Intl,
    /// Chinese: every Chinese character stands alone, the rest as in 13a.
    Zh,
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
            Self::Intl => "intl",
            Self::Zh => "zh",
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
            Self::V13a => Cow::Owned(spaced_western(&format!(" {} ", unescaped(text)))),
            Self::Intl => Cow::Owned(spaced_intl(text)),
            Self::Zh => Cow::Owned(spaced_western(&spaced_chinese(text))),
            Self::Char => Cow::Owned(text.chars().flat_map(|c| [c, ' ']).collect()),
            Self::None => Cow::Borrowed(text),
        }
    }
}

/// `text` with spaces around the tokens of mteval-v13a, once its escapes are undone.
///
/// The three passes after the first are the regular expressions of the original, which consume
/// what they match: of ".." after a digit only one full stop sees that digit.
fn spaced_western(text: &str) -> String {
    let points = |c| matches!(c, '.' | ',');
    let spaced = alone(text, is_symbol);
    // ([^0-9])([.,]) → \1 \2 followed by a space
    let spaced = replace_pairs(&spaced, |a, b| points(b) && !a.is_ascii_digit(), ["", " ", " "]);
    // ([.,])([^0-9]) → a space, \1 \2
    let spaced = replace_pairs(&spaced, |a, b| points(a) && !b.is_ascii_digit(), [" ", " ", ""]);
    // ([0-9])(-) → \1 \2 followed by a space
    replace_pairs(&spaced, |a, b| b == '-' && a.is_ascii_digit(), ["", " ", " "]).into_owned()
}

/// `text` with spaces around the tokens of mteval-v14's international tokenizer.
fn spaced_intl(text: &str) -> String {
    // (\P{N})(\p{P}) → \1 \2 followed by a space
    let spaced = replace_pairs(text, |a, b| !is_number(a) && is_punctuation(b), ["", " ", " "]);
    // (\p{P})(\P{N}) → a space, \1 \2
    let spaced = replace_pairs(&spaced, |a, b| is_punctuation(a) && !is_number(b), [" ", " ", ""]);
    alone(&spaced, is_symbol_of_any_script)
}

fn spaced_chinese(text: &str) -> String {
    alone(text.trim_matches(is_space), |c| CHINESE.iter().any(|range| range.contains(&c)))
}

/// The blocks that sacrebleu's tokenizer `zh` calls Chinese. The second is meant to be U+20000–U+2A6D6, but written with
/// four digits, and the scores of all who use it depend on that.
const CHINESE: [RangeInclusive<char>; 17] = [
    '\u{3400}'..='\u{4db5}',
    '\u{2001}'..='\u{2a6d}',
    '\u{4e00}'..='\u{9fbb}',
    '\u{f900}'..='\u{fa2d}',
    '\u{fa30}'..='\u{fa6a}',
    '\u{fa70}'..='\u{fad9}',
    '\u{ff00}'..='\u{ffef}',
    '\u{2e80}'..='\u{2eff}',
    '\u{3000}'..='\u{303f}',
    '\u{31c0}'..='\u{31ef}',
    '\u{2f00}'..='\u{2fdf}',
    '\u{2ff0}'..='\u{2fff}',
    '\u{3100}'..='\u{312f}',
    '\u{31a0}'..='\u{31bf}',
    '\u{fe10}'..='\u{fe1f}',
    '\u{fe30}'..='\u{fe4f}',
    '\u{3200}'..='\u{33ff}',
];

/// `text` with spaces around each character that `stands_alone`.
fn alone(text: &str, stands_alone: impl Fn(char) -> bool) -> String {
    let mut spaced = String::with_capacity(text.len() + text.len() / 4);
    let mut copied = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| stands_alone(*c)) {
        spaced.push_str(&text[copied..at]);
        spaced.extend([' ', c, ' ']);
        copied = at + c.len_utf8();
    }
    spaced.push_str(&text[copied..]);
    spaced
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

/// A number of any script (N*).
fn is_number(c: char) -> bool {
    matches!(get_general_category(c), G::DecimalNumber | G::LetterNumber | G::OtherNumber)
}

/// Punctuation of any script (P*).
fn is_punctuation(c: char) -> bool {
    matches!(
        get_general_category(c),
        G::ConnectorPunctuation
            | G::DashPunctuation
            | G::OpenPunctuation
            | G::ClosePunctuation
            | G::InitialPunctuation
            | G::FinalPunctuation
            | G::OtherPunctuation
    )
}

/// A symbol of any script (S*).
fn is_symbol_of_any_script(c: char) -> bool {
    matches!(get_general_category(c), G::MathSymbol | G::CurrencySymbol | G::ModifierSymbol | G::OtherSymbol)
}

/// Replaces the non-overlapping pairs of neighbours that `matches`, from the left, by themselves
/// with `around` before, between and after.
fn replace_pairs<'a>(text: &'a str, matches: impl Fn(char, char) -> bool, around: [&str; 3]) -> Cow<'a, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, first)) = characters.next() {
        let Some((second_at, second)) = characters.next_if(|(_, second)| matches(first, *second)) else { continue };
        if out.is_empty() {
            out.reserve(text.len() + text.len() / 4);
        }
        out.push_str(&text[copied..at]);
        out.push_str(around[0]);
        out.push(first);
        out.push_str(around[1]);
        out.push(second);
        out.push_str(around[2]);
        copied = second_at + second.len_utf8();
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
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

    /// Tokens of sacrebleu 2.6.0.
    #[test]
    fn intl_and_zh_cut_as_in_sacrebleu() {
        let tokens = |tokenizer: BleuTokenizer, text: &str| tokenizer.tokens(text).join(" ");
        let cases = [
            ("“3,400.50 €” – it’s ½ off.", "“3,400.50 € ” – it ’ s ½ off .", "“ 3,400.50 € ” – it ’ s ½ off ."),
            (
                "我在2024年买了3.5个iPhone, 好。",
                "我在2024年买了3.5个iPhone , 好 。",
                "我 在 2024 年 买 了 3.5 个 iPhone , 好 。",
            ),
            ("U.S.A. in 1999.", "U . S . A . in 1999.", "U . S . A . in 1999."),
            ("a..5 &amp; x-1 5-", "a . .5 & amp ; x - 1 5-", "a . .5 & amp ; x-1 5 -"),
            ("…（东京）→ １２．５%", "… （ 东京 ） → １２．５%", "… （ 东 京 ） → １ ２ ． ５ %"),
            ("  x∑y ﷼ ²  ", "x ∑ y ﷼ ²", "x ∑ y ﷼ ²"),
        ];
        for (text, intl, zh) in cases {
            assert_eq!(tokens(BleuTokenizer::Intl, text), intl, "{text}");
            assert_eq!(tokens(BleuTokenizer::Zh, text), zh, "{text}");
        }
    }

    #[test]
    fn other_tokenizers_cut_at_spaces_or_everywhere() {
        assert_eq!(BleuTokenizer::None.tokens(" a.b  c "), ["a.b", "c"]);
        assert_eq!(BleuTokenizer::Char.tokens("東 é"), ["東", "é"]);
    }
}
