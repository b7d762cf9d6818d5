//! Lexing outside of quotes: white space, comments, numbers and bare words.

use karat_types::json;
use serde_json::Value;

/// The text without leading white space, invisible characters and comments.
pub(super) fn skip_space(text: &str) -> &str {
    let mut rest = text;
    loop {
        let trimmed = rest.trim_start_matches(is_space);
        match skip_comment(trimmed) {
            Some(after) => rest = after,
            None => return trimmed,
        }
    }
}

/// White space, and characters that look like none.
pub(super) fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{feff}' | '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{2060}')
}

/// True for a separator of two members, or a character used as one.
pub(super) fn is_separator(character: char) -> bool {
    matches!(character, ',' | ';' | '，' | '、')
}

/// The text after a comment that it begins with. A block comment that never ends takes the rest.
pub(super) fn skip_comment(text: &str) -> Option<&str> {
    if let Some(inner) = text.strip_prefix("/*") {
        return Some(inner.split_once("*/").map_or("", |(_, after)| after));
    }
    if text.starts_with("//") || text.starts_with('#') {
        return Some(text.find('\n').map_or("", |end| &text[end..]));
    }
    None
}

/// The value of a word like `true` or `None`.
pub(super) fn literal(word: &str) -> Option<Value> {
    match word {
        "true" | "True" | "TRUE" => Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => Some(Value::Bool(false)),
        "null" | "None" | "NULL" | "Null" | "nil" | "undefined" => Some(Value::Null),
        _ => None,
    }
}

/// The value of a bare word, and the lenience it needed.
pub(super) enum Word {
    /// Strict JSON.
    Strict(Value),
    /// Read leniently.
    Lenient(Value, &'static str),
    /// Nothing that can be read, and why.
    Unreadable(String),
}

/// Reads a word that stands without quotes where a value is expected.
pub(super) fn word(word: &str) -> Word {
    let strict = matches!(word, "true" | "false" | "null");
    if let Some(value) = literal(word) {
        return if strict {
            Word::Strict(value)
        } else {
            Word::Lenient(value, "a word of another language for true, false or null")
        };
    }
    if is_not_finite(word) {
        return Word::Unreadable(format!("{word} is not a JSON number"));
    }
    if word.starts_with("...") || word.starts_with('…') {
        return Word::Unreadable("something was left out with an ellipsis".to_owned());
    }
    if word.starts_with(|c: char| c.is_numeric() || matches!(c, '-' | '+' | '.')) {
        return number(word);
    }
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if word.starts_with(char::is_alphabetic) && word.chars().all(is_word) {
        return Word::Lenient(Value::String(word.to_owned()), "a text without quotes");
    }
    Word::Unreadable(match word {
        "" => "a value is missing".to_owned(),
        _ => format!("{:?} is not a JSON value", shorten(word)),
    })
}

fn is_not_finite(word: &str) -> bool {
    let bare = word.trim_start_matches(['+', '-']).to_ascii_lowercase();
    matches!(bare.as_str(), "nan" | "inf" | "infinity" | "infinite")
}

/// Reads what begins like a number.
fn number(word: &str) -> Word {
    if let Some(number) = json::number(word) {
        return Word::Strict(Value::Number(number));
    }
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let unsigned = word.trim_start_matches(['+', '-']);
    let canonical = match unsigned.split_once('.') {
        Some(("", fraction)) if digits(fraction) => Some(format!("0.{fraction}")),
        Some((whole, "")) if digits(whole) => Some(format!("{whole}.0")),
        _ if word.starts_with('+') => Some(unsigned.to_owned()),
        _ if unsigned.contains('_') => Some(unsigned.replace('_', "")),
        _ => None,
    };
    let sign = if word.starts_with('-') { "-" } else { "" };
    let parsed = canonical.and_then(|text| json::number(&format!("{sign}{text}")));
    match parsed {
        Some(number) => Word::Lenient(Value::Number(number), "a number in another notation"),
        // `8/10`, `85%` and digits of other scripts are left to whoever knows what they are worth.
        None if word.chars().all(|c| c.is_numeric() || matches!(c, '.' | '/' | '%' | '-' | ':')) => {
            Word::Lenient(Value::String(word.to_owned()), "a text without quotes")
        }
        None => Word::Unreadable(format!("{:?} is not a JSON number", shorten(word))),
    }
}

fn shorten(word: &str) -> String {
    word.chars().take(40).collect()
}
