//! Texts in quotes of any kind, with the mistakes that models make in them.

use super::keys::opening;
use super::words::skip_space;
use super::{sniff, words};

/// The position of a text: this decides which quote closes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Key,
    Member,
    Item,
}

/// A text that was read.
pub(super) struct QuotedText {
    pub text: String,
    /// Length in the source, quotes included.
    pub length: usize,
    pub repairs: Vec<&'static str>,
}

/// Why a text cannot be read, and where (in the source, from the opening quote).
pub(super) struct Unreadable {
    pub problem: &'static str,
    pub at: usize,
}

/// True if a text begins with a quote of some kind.
pub(super) fn begins(text: &str) -> bool {
    opening(text).is_some()
}

/// Reads a text from its opening quote on.
pub(super) fn read(source: &str, place: Place) -> Result<QuotedText, Unreadable> {
    for mark in ["\"\"\"", "'''"] {
        if source.starts_with(mark) {
            return triple(source, mark);
        }
    }
    let Some((open, closing, style)) = opening(source) else {
        return Err(Unreadable { problem: "a quote is expected", at: 0 });
    };
    let mut quoted = QuotedText { text: String::new(), length: 0, repairs: style.into_iter().collect() };
    let mut at = open;
    while let Some(character) = source[at..].chars().next() {
        let after = at + character.len_utf8();
        if character == '\\' {
            at = after + escape(&source[after..], &mut quoted);
            continue;
        }
        if closing.contains(&character) {
            if closes(&source[after..], place) {
                quoted.length = after;
                return Ok(quoted);
            }
            if place == Place::Member && skip_space(&source[after..]).starts_with([':', '：']) {
                return Err(Unreadable { problem: "a quote is out of place", at });
            }
            quoted.note("an unescaped quote in a text");
        }
        if character.is_ascii_control() {
            quoted.note("a raw control character in a text");
        }
        quoted.text.push(character);
        at = after;
    }
    Err(Unreadable { problem: "the text that begins here never ends", at: 0 })
}

impl QuotedText {
    fn note(&mut self, repair: &'static str) {
        if !self.repairs.contains(&repair) {
            self.repairs.push(repair);
        }
    }
}

fn triple(source: &str, mark: &'static str) -> Result<QuotedText, Unreadable> {
    let inner = &source[3..];
    let end = inner.find(mark).ok_or(Unreadable { problem: "the text that begins here never ends", at: 0 })?;
    Ok(QuotedText { text: inner[..end].to_owned(), length: end + 6, repairs: vec!["triple quotes"] })
}

/// True if a quote before `after` closes a text: what follows is what must follow one.
fn closes(after: &str, place: Place) -> bool {
    let next = skip_space(after);
    match (place, next.chars().next()) {
        (Place::Key, _) => true,
        (_, None | Some('}' | ']')) => true,
        (Place::Member, Some(separator)) if words::is_separator(separator) => {
            let next = after_separators(next);
            next.is_empty() || next.starts_with('}') || sniff::with_key(next)
        }
        (Place::Member, Some(_)) => sniff::with_key(next),
        (Place::Item, Some(separator)) if words::is_separator(separator) => {
            let next = after_separators(next);
            next.is_empty() || sniff::value(next)
        }
        (Place::Item, Some(_)) => begins(next) && next.len() < after.len(),
    }
}

fn after_separators(text: &str) -> &str {
    skip_space(text.trim_start_matches(|c| words::is_separator(c) || words::is_space(c)))
}

/// Reads what follows a backslash; returns how much of it was used.
fn escape(source: &str, quoted: &mut QuotedText) -> usize {
    let Some(character) = source.chars().next() else {
        quoted.text.push('\\');
        return 0;
    };
    let plain = match character {
        '"' | '\\' | '/' => Some(character),
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        '\'' | '`' | '\n' => {
            quoted.note("an escape that JSON does not know");
            Some(character)
        }
        _ => None,
    };
    if let Some(plain) = plain {
        quoted.text.push(plain);
        return character.len_utf8();
    }
    let code = match character {
        'u' => unicode(&source[1..]),
        'x' => hex(&source[1..], 2).and_then(char::from_u32).map(|decoded| (decoded, 2)),
        _ => None,
    };
    match code {
        Some((decoded, used)) => {
            if character == 'x' {
                quoted.note("an escape that JSON does not know");
            }
            if decoded == char::REPLACEMENT_CHARACTER {
                quoted.note("half of a surrogate pair");
            }
            quoted.text.push(decoded);
            1 + used
        }
        None => {
            quoted.note("a backslash that escapes nothing");
            quoted.text.push('\\');
            0
        }
    }
}

/// Reads the digits of `\uXXXX`, and the second half of a surrogate pair.
fn unicode(source: &str) -> Option<(char, usize)> {
    let first = hex(source, 4)?;
    if let Some(decoded) = char::from_u32(first) {
        return Some((decoded, 4));
    }
    let second = source[4..].strip_prefix("\\u").and_then(|rest| hex(rest, 4));
    let pair = second.filter(|second| (0xDC00..0xE000).contains(second) && first < 0xDC00);
    match pair.and_then(|second| char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))) {
        Some(decoded) => Some((decoded, 10)),
        None => Some((char::REPLACEMENT_CHARACTER, 4)),
    }
}

fn hex(source: &str, digits: usize) -> Option<u32> {
    let text = source.get(..digits)?;
    text.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(text, 16).ok()).flatten()
}
