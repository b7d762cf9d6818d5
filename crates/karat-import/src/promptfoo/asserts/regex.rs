//! Regular expressions of JavaScript in the words of a suite's.

use std::iter::Peekable;
use std::str::Chars;

use crate::promptfoo::refusal::Refusal;

/// The pattern with the meaning that JavaScript gives it: `\d`, `\w` and `\b` know ASCII alone, a brace that begins no count
/// is itself, and within brackets `[`, `&&` and `~~` are themselves.
///
/// # Errors
/// A pattern that JavaScript refuses, or one that needs look-around, back-references or anything else that a suite lacks.
pub(super) fn translate(pattern: &str) -> Result<String, Refusal> {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    let mut is_class = false;
    while let Some(char) = chars.next() {
        match char {
            '\\' => escape(&mut chars, is_class, &mut out),
            '[' if is_class => out.push_str("\\["),
            '[' => {
                is_class = true;
                out.push(char);
                out.extend(chars.next_if_eq(&'^'));
            }
            ']' => {
                is_class = false;
                out.push(char);
            }
            '&' | '~' if is_class => {
                out.push('\\');
                out.push(char);
            }
            '{' if !is_class && !is_count(chars.clone()) => out.push_str("\\{"),
            '(' if !is_class && has_flags(chars.clone()) => {
                return Err(Refusal::new("its pattern sets flags, which JavaScript refuses").instead("`ignore_case`"));
            }
            other => out.push(other),
        }
    }
    match regex::Regex::new(&out) {
        Ok(_) => Ok(out),
        Err(_) => Err(Refusal::new(
            "its pattern uses what regular expressions of a suite lack, as look-around and back-references",
        )
        .instead("a pattern without them, or two checks")),
    }
}

fn escape(chars: &mut Peekable<Chars<'_>>, is_class: bool, out: &mut String) {
    let Some(char) = chars.next() else {
        out.push('\\');
        return;
    };
    match (char, is_class) {
        ('d', false) => out.push_str("[0-9]"),
        ('D', false) => out.push_str("[^0-9]"),
        ('w', false) => out.push_str("[0-9A-Za-z_]"),
        ('W', false) => out.push_str("[^0-9A-Za-z_]"),
        ('b', false) => out.push_str("(?-u:\\b)"),
        ('B', false) => out.push_str("(?-u:\\B)"),
        ('d', true) => out.push_str("0-9"),
        ('w', true) => out.push_str("0-9A-Za-z_"),
        (other, _) => {
            out.push('\\');
            out.push(other);
        }
    }
}

/// Returns true if a brace begins `{2}`, `{2,}` or `{2,3}`.
fn is_count(mut rest: Peekable<Chars<'_>>) -> bool {
    let mut digits = 0;
    while rest.next_if(char::is_ascii_digit).is_some() {
        digits += 1;
    }
    if rest.next_if_eq(&',').is_some() {
        while rest.next_if(char::is_ascii_digit).is_some() {}
    }
    digits > 0 && rest.next() == Some('}')
}

/// Returns true if a parenthesis begins `(?i)` or `(?i:`.
fn has_flags(mut rest: Peekable<Chars<'_>>) -> bool {
    rest.next() == Some('?') && rest.next().is_some_and(|char| char.is_ascii_alphabetic() && char != 'P')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IO-03: patterns match what they match in JavaScript.
    #[test]
    fn patterns_keep_their_meaning() {
        for (pattern, text, matches) in [
            ("^\\d+$", "12", true),
            ("^\\d+$", "\u{0661}\u{0662}", false),
            ("^\\w+$", "aé", false),
            ("\\bé", "aé", true),
            ("[\\d,]+$", "1,2", true),
            ("^[a&&b]$", "&", true),
            ("^[[]$", "[", true),
            ("a\\/b{c}", "a/b{c}", true),
            ("^a{2,3}$", "aaa", true),
            ("^(?:a|b)$", "b", true),
            ("(?<year>\\d{4})", "2026", true),
        ] {
            let pattern = translate(pattern).unwrap_or_else(|_| panic!("{pattern}"));
            assert_eq!(regex::Regex::new(&pattern).unwrap().is_match(text), matches, "{pattern} {text}");
        }
        for refused in ["(?i)a", "(?<=a)b", "(a)\\1"] {
            assert!(translate(refused).is_err(), "{refused}");
        }
    }
}
