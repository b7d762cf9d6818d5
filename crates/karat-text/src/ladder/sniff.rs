//! Checks what a text begins like, without parsing it.

use super::keys::key_length;
use super::words::{literal, skip_space};

/// True if a text begins like an object (`{}` or `{key:`) or a list of something.
pub(super) fn like_json(text: &str) -> bool {
    match text.strip_prefix('{') {
        Some(inner) => {
            let inner = skip_space(inner);
            inner.starts_with('}') || with_key(inner) || escaped(inner)
        }
        None => text.strip_prefix('[').is_some_and(|inner| value(skip_space(inner))),
    }
}

/// True if a text begins like the inside of an object: with a key in double quotes.
pub(super) fn headless(text: &str) -> bool {
    text.starts_with('"') && with_key(text)
}

/// True if a text begins with a key and a colon.
pub(super) fn with_key(text: &str) -> bool {
    key_length(text).is_some_and(|length| skip_space(&text[length..]).starts_with([':', '：']))
}

fn escaped(text: &str) -> bool {
    text.strip_prefix("\\\"")
        .and_then(|rest| rest.split_once("\\\""))
        .is_some_and(|(key, rest)| key.len() < 200 && rest.trim_start().starts_with(':'))
}

/// True if a text begins with something that can stand in a list.
pub(super) fn value(text: &str) -> bool {
    let next_is_end = |rest: &str| skip_space(rest).starts_with([',', ']', '}']);
    match text.chars().next() {
        Some('{') => like_json(text),
        Some('[' | ']' | '"' | '“' | '＂') => true,
        Some('\'') => text[1..].contains('\''),
        Some('-') => true,
        Some(character) if character.is_numeric() => true,
        _ => literal_prefix(text).is_some_and(next_is_end),
    }
}

/// Returns the rest behind a word like `true` or `None` that the text begins with.
fn literal_prefix(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    literal(&text[..end]).map(|_| &text[end..])
}
