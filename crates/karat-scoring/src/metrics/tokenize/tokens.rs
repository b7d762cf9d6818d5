//! The ways in which metrics cut texts into words.

use unicode_general_category::{GeneralCategory, get_general_category};

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
