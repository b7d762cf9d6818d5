//! Half characters in JSON from outside.
//!
//! JavaScript and Python cut texts between the two halves of an emoji and write each half as an escape (`\ud83d`) or as the
//! bytes that it would have. Neither is a character, so a reader of JSON refuses the whole document. The half becomes U+FFFD
//! here, and everything else stays.

use std::borrow::Cow;

use karat_types::json::Parsed;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A value that was read, and whether half a character in it was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended<T> {
    /// The value.
    pub value: T,
    /// True if half a character was replaced.
    pub was_mended: bool,
}

/// The note on a document in which half a character was replaced.
pub const NOTE: &str = "half a character (a lone surrogate) was replaced by U+FFFD";

/// Reads JSON in which half characters count as U+FFFD.
///
/// # Errors
/// It is no such JSON otherwise either.
pub fn parse<T: DeserializeOwned>(text: &str) -> serde_json::Result<Mended<T>> {
    parse_slice(text.as_bytes())
}

/// One JSON value of any form, with all digits of its numbers; see [`karat_types::json::parse`].
///
/// # Errors
/// As [`parse`].
pub fn value(text: &str) -> serde_json::Result<Mended<Value>> {
    parse::<Parsed>(text).map(|read| Mended { value: read.value.value, was_mended: read.was_mended })
}

/// As [`parse`], from bytes.
///
/// # Errors
/// As [`parse`].
pub fn parse_slice<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<Mended<T>> {
    match serde_json::from_slice(bytes) {
        Ok(value) => Ok(Mended { value, was_mended: false }),
        Err(error) => match mend(bytes) {
            Cow::Borrowed(_) => Err(error),
            Cow::Owned(whole) => Ok(Mended { value: serde_json::from_slice(&whole)?, was_mended: true }),
        },
    }
}

/// The JSON with U+FFFD in place of half characters; as it is if it has none.
pub fn mend(json: &[u8]) -> Cow<'_, [u8]> {
    let (mut whole, mut copied, mut at) = (Vec::new(), 0, 0);
    while at < json.len() {
        let (length, mended) = match json[at] {
            b'\\' => escape(&json[at..]),
            0xED => surrogate_bytes(&json[at..]),
            _ => (1, None),
        };
        if let Some(character) = mended {
            whole.extend_from_slice(&json[copied..at]);
            whole.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            copied = at + length;
        }
        at += length;
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    whole.extend_from_slice(&json[copied..]);
    Cow::Owned(whole)
}

const FIRST_HALVES: std::ops::Range<u32> = 0xD800..0xDC00;
const SECOND_HALVES: std::ops::Range<u32> = 0xDC00..0xE000;

/// The length of the escape at the beginning, and its replacement if it is half a character.
fn escape(json: &[u8]) -> (usize, Option<char>) {
    let Some(first) = escaped_unit(json) else { return (2, None) };
    let second = json.get(6..).and_then(escaped_unit);
    match (FIRST_HALVES.contains(&first), second) {
        (true, Some(second)) if SECOND_HALVES.contains(&second) => (12, None),
        (true, _) => (6, Some(char::REPLACEMENT_CHARACTER)),
        _ => (6, SECOND_HALVES.contains(&first).then_some(char::REPLACEMENT_CHARACTER)),
    }
}

/// The number of an escape `\uXXXX` at the beginning.
fn escaped_unit(json: &[u8]) -> Option<u32> {
    let digits = json.strip_prefix(b"\\u")?.get(..4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The length of a character at the beginning, and its replacement if its bytes are those of halves. Two halves of one
/// character are that character.
fn surrogate_bytes(json: &[u8]) -> (usize, Option<char>) {
    let unit = |bytes: Option<&[u8]>| match bytes? {
        [0xED, second @ 0xA0..=0xBF, third @ 0x80..=0xBF] => {
            Some(0xD000 | (u32::from(*second & 0x3F) << 6) | u32::from(*third & 0x3F))
        }
        _ => None,
    };
    let Some(first) = unit(json.get(..3)) else { return (1, None) };
    let second = unit(json.get(3..6)).filter(|second| FIRST_HALVES.contains(&first) && SECOND_HALVES.contains(second));
    match second.and_then(|second| char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))) {
        Some(character) => (6, Some(character)),
        None => (3, Some(char::REPLACEMENT_CHARACTER)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// F7: half a character becomes U+FFFD, wherever it stands; whole ones and escaped backslashes stay.
    #[test]
    fn half_characters_are_replaced() {
        for (text, expected) in [
            (r#"["nice \ud83d party"]"#, Some("nice \u{fffd} party")),
            (r#"["\uD83D"]"#, Some("\u{fffd}")),
            (r#"["\ude00\ud83d"]"#, Some("\u{fffd}\u{fffd}")),
            (r#"["\ud83d\ud83d\ude00"]"#, Some("\u{fffd}\u{1f600}")),
            (r#"["\ud83d\n"]"#, Some("\u{fffd}\n")),
            (r#"["\ud83dA"]"#, Some("\u{fffd}A")),
            (r#"["\ud83d\ude00"]"#, None),
            (r#"["a\\ud83d"]"#, None),
            (r#"["plain"]"#, None),
        ] {
            let read: Mended<Vec<String>> = parse(text).unwrap();
            assert_eq!(read.was_mended, expected.is_some(), "{text}");
            if let Some(expected) = expected {
                assert_eq!(read.value, [expected], "{text}");
            }
        }
        let keys: Mended<Value> = parse(r#"{"\ud83d": {"a": ["\udfff"]}}"#).unwrap();
        assert_eq!(keys.value, serde_json::json!({"\u{fffd}": {"a": ["\u{fffd}"]}}));
        assert!(parse::<Value>(r#"{"a": "\ud83d""#).is_err() && parse::<Value>(r#""\ud8"#).is_err());
    }

    /// F7: the same for the bytes that some writers give a half; other bytes that are not text stay an error.
    #[test]
    fn bytes_of_halves_are_replaced() {
        let read = |bytes: &[u8]| parse_slice::<Vec<String>>(bytes).map(|read| read.value.concat());
        assert_eq!(read(b"[\"a\xed\xa0\xbdb\"]").unwrap(), "a\u{fffd}b");
        assert_eq!(read(b"[\"\xed\xa0\xbd\xed\xb8\x80\"]").unwrap(), "\u{1f600}");
        assert_eq!(read("[\"\u{d7ff}\"]".as_bytes()).unwrap(), "\u{d7ff}");
        assert!(read(b"[\"a\xffb\"]").is_err());
    }
}
