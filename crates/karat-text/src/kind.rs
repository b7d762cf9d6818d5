//! Words for messages: names of JSON types, and long texts that are cut in the middle.

use std::borrow::Cow;

use serde_json::Value;

/// `a text`, `a list`, `null`: what stands after "this is".
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A text with a capital letter at its beginning.
pub fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A text with the given numbers of characters of its beginning and its end; a shorter one as a whole.
pub fn ends(text: &str, first: usize, last: usize) -> Cow<'_, str> {
    match split_ends(text, first, last) {
        Some((head, tail)) => format!("{head} … {tail}").into(),
        None => text.into(),
    }
}

/// The beginning and the end of a text that is longer than both.
pub fn split_ends(text: &str, first: usize, last: usize) -> Option<(&str, &str)> {
    let count = text.chars().count();
    let at = |number: usize| text.char_indices().nth(number).map_or(text.len(), |(at, _)| at);
    (count > first + last).then(|| (&text[..at(first)], &text[at(count - last)..]))
}
