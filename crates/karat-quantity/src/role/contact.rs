//! Numbers that are part of a web address or a phone number.

use std::ops::Range;

use crate::chars::is_inline_space;

/// Bytes that are looked at on either side of a number.
const NEAR: usize = 120;

/// True if the number at `span` is part of an address or a phone number.
pub(crate) fn holds(text: &str, span: &Range<usize>) -> bool {
    in_address(text, span) || in_phone(text, span)
}

/// `https://example.com/2/5`, `www.example.com/5`, `q2.2025@example.com`.
fn in_address(text: &str, span: &Range<usize>) -> bool {
    let ends = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '|' | '(' | ')');
    let word = around(text, span, |c| !ends(c));
    let word = &text[word];
    let mail = word.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
    word.contains("://") || word.starts_with("www.") || mail
}

/// `1-800-555-1234`, `(415) 555-0199`, `+49 89 1234567`, `555-0199`.
fn in_phone(text: &str, span: &Range<usize>) -> bool {
    let part = |c: char| c.is_ascii_digit() || is_inline_space(c) || matches!(c, '-' | '(' | ')' | '+' | '‑');
    let run = around(text, span, part);
    let joined = |c: char| c.is_alphanumeric() || matches!(c, '$' | '€' | '£' | ',' | '.');
    let begins = text[run.start..].starts_with(is_inline_space) || !text[..run.start].ends_with(joined);
    let shown = text[run].trim_matches(is_inline_space);
    let begins = begins && shown.chars().all(part);
    let groups = shown.split(|c: char| !c.is_ascii_digit()).filter(|group| !group.is_empty());
    let lengths: Vec<usize> = groups.map(str::len).take(7).collect();
    let digits: usize = lengths.iter().sum();
    let international = shown.starts_with('+') && lengths.len() >= 3 && (9..=15).contains(&digits);
    let spaced = shown.contains(' ') && !shown.contains(['(', '-', '‑']);
    let american = match lengths.as_slice() {
        [1, 3, 3, 4] | [3, 3, 4] => !spaced,
        [3, 4] => !shown.contains([' ', '(']),
        _ => false,
    };
    begins && (international || american)
}

/// The run of characters around `span` that are `within`, no farther than [`NEAR`] on either side.
fn around(text: &str, span: &Range<usize>, within: impl Fn(char) -> bool) -> Range<usize> {
    let from = text.ceil_char_boundary(span.start.saturating_sub(NEAR));
    let to = text.floor_char_boundary((span.end + NEAR).min(text.len()));
    let before = text[from..span.start].rfind(|c| !within(c)).map(|at| from + at);
    let start = before.map_or(from, |at| at + text[at..].chars().next().map_or(0, char::len_utf8));
    let end = text[span.end..to].find(|c| !within(c)).map_or(to, |at| span.end + at);
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chars::digit;

    /// RG-05: numbers of addresses and phones are not amounts.
    #[test]
    fn addresses_and_phones_are_no_amounts() {
        for (text, holds_5) in [
            ("https://example.com/a/5?x=1", true),
            ("see www.example.com/5.", true),
            ("ir5@example.com", true),
            ("a/5", false),
            ("call 1-800-555-1234", true),
            ("(415) 555-0199", true),
            ("+49 89 5123456", true),
            ("555-0199", true),
            ("$555-1000", false),
            ("5-6", false),
            ("150 555 1999", false),
            ("-5", false),
            ("+5", false),
        ] {
            let at = text.find('5').unwrap();
            let end = text[at..].find(|c| digit(c).is_none()).map_or(text.len(), |length| at + length);
            assert_eq!(holds(text, &(at..end)), holds_5, "{text}");
        }
    }
}
