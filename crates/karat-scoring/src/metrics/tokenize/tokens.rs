//! The ways in which metrics cut texts into words.

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_segmentation::UnicodeSegmentation;

/// Whitespace as Python's `str.split` knows it: Unicode White_Space and the separators U+001C–U+001F.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// The runs of non-whitespace of `text`, as Python's `str.split()`.
pub(crate) fn split_spaces(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// The runs of Unicode letters (L*) and decimal digits (Nd) of `text`.
pub(crate) fn alphanumeric_runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_letter_or_digit(c)).filter(|word| !word.is_empty())
}

fn is_letter_or_digit(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    is_letter(c) || get_general_category(c) == GeneralCategory::DecimalNumber
}

/// A word character of Python's `re`: a letter (L*), a number (N*) or the underscore.
pub(crate) fn is_word_character(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    is_letter(c) || c.is_numeric()
}

/// A Unicode letter (category L*); unlike `char::is_alphabetic` no mark, number or symbol.
fn is_letter(c: char) -> bool {
    use GeneralCategory as G;
    matches!(
        get_general_category(c),
        G::UppercaseLetter | G::LowercaseLetter | G::TitlecaseLetter | G::ModifierLetter | G::OtherLetter
    )
}

/// `text` with case differences removed: upper- and then lower-cased, character by character, so
/// that "Straße" equals "STRASSE" and a final sigma any other.
pub(crate) fn fold_case(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// True if `c` belongs to a script that is written without spaces between words: Thai, Lao, Tibetan, Myanmar, Khmer, kana,
/// Han.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{fff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{2fdf}'
        | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}')
}

/// True if `c` is a letter or digit of another script than Latin.
pub(crate) fn is_of_other_script(c: char) -> bool {
    let is_latin = c.is_ascii()
        || matches!(c, '\u{aa}'..='\u{2af}' | '\u{1d00}'..='\u{1eff}' | '\u{2070}'..='\u{218f}' | '\u{2460}'..='\u{24ff}'
            | '\u{2c60}'..='\u{2c7f}' | '\u{a720}'..='\u{a7ff}' | '\u{ab30}'..='\u{ab6f}' | '\u{fb00}'..='\u{fb06}'
            | '\u{ff10}'..='\u{ff5a}');
    !is_latin && c.is_alphanumeric()
}

/// True if `c` belongs to a script whose words are not runs of letters: one without spaces, or one whose vowels are marks, as
/// Arabic, Hebrew and the scripts of India write them.
pub(crate) fn is_without_plain_words(c: char) -> bool {
    is_unspaced(c) || matches!(c, '\u{590}'..='\u{dff}')
}

/// True if more than a tenth of the letters and digits of some texts are of a kind; a symbol or a name amid other words is
/// not enough.
pub(crate) fn are_written_in<'a>(texts: impl IntoIterator<Item = &'a str>, kind: fn(char) -> bool) -> bool {
    let (mut all, mut those) = (0_usize, 0_usize);
    for c in texts.into_iter().flat_map(str::chars).filter(|c| !c.is_ascii() || c.is_ascii_alphanumeric()) {
        all += usize::from(c.is_alphanumeric());
        those += usize::from(c.is_alphanumeric() && kind(c));
    }
    those * 10 > all
}

/// The words of a text as Unicode defines them (UAX 29), with a space between two: of a script without spaces, each letter
/// with its marks.
pub(crate) fn spaced_words(text: &str) -> String {
    text.unicode_words().collect::<Vec<_>>().join(" ")
}
