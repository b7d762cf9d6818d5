//! Removing secrets from what is kept.

use std::collections::BTreeSet;
use std::ops::Range;

use bytes::Bytes;
use regex::bytes::Regex;
use secrecy::{ExposeSecret, SecretString};

/// What stands where a secret stood.
const REMOVED: &str = "[secret removed]";

/// Shorter values (`x`, `none`, `ollama`) are placeholders that local servers want, and words that stand everywhere.
const SHORTEST: usize = 8;

/// A reply is often JSON within JSON, and may hold JSON itself.
const NESTED: u32 = 3;

/// Bytes that are kept of a body that broke off or is too large.
const KEPT: usize = 64 * 1024;

/// The known secrets of a set of models. They are found as they are, in hexadecimal digits and in base64 (by themselves or
/// within `user:key`), each also in JSON escapes and percent-encoded.
pub(crate) struct Secrets {
    /// The longest first: a key that begins with another one must go as a whole.
    values: Vec<SecretString>,
    patterns: Option<Patterns>,
}

/// Nearly all bytes hold neither a secret nor an escape in which one could hide, and two quick looks tell.
struct Patterns {
    /// The secrets as they are, and encoded.
    known: Regex,
    /// Anything that could spell a character of them differently.
    escape: Regex,
}

impl Secrets {
    /// Knows none.
    pub fn none() -> Self {
        Self { values: Vec::new(), patterns: None }
    }

    /// Knows these values.
    ///
    /// # Errors
    /// When they are too long to be looked for.
    pub fn new(mut values: Vec<SecretString>) -> Result<Self, regex::Error> {
        values.retain(|value| value.expose_secret().len() >= SHORTEST);
        values.sort_by_key(|value| std::cmp::Reverse(value.expose_secret().len()));
        let patterns = if values.is_empty() { None } else { Some(Patterns::new(&values)?) };
        Ok(Self { values, patterns })
    }

    /// The same bytes, shared, unless a secret stands in them.
    pub fn clean(&self, bytes: Bytes) -> Bytes {
        let Some(patterns) = &self.patterns else { return bytes };
        let places = self.spelled(patterns, &bytes, NESTED);
        if places.is_empty() { bytes } else { without(&bytes, &places).into() }
    }

    /// Where secrets stand, in order and apart, also in escapes of escapes so deep.
    fn spelled(&self, patterns: &Patterns, bytes: &[u8], depth: u32) -> Vec<Range<usize>> {
        let mut places = self.places(patterns, bytes);
        if depth > 0 && patterns.escape.is_match(bytes) {
            let plain = unescaped(bytes);
            places.extend(in_source(bytes, &self.spelled(patterns, &plain, depth - 1)));
            places.sort_by_key(|place| place.start);
        }
        let mut apart: Vec<Range<usize>> = Vec::with_capacity(places.len());
        for place in places {
            match apart.last_mut().filter(|last| place.start < last.end) {
                Some(last) => last.end = last.end.max(place.end),
                None => apart.push(place),
            }
        }
        apart
    }

    /// Where secrets stand as they are or encoded, in order. An encoded one takes the characters along that it shares with its neighbours, and
    /// the padding.
    fn places(&self, patterns: &Patterns, bytes: &[u8]) -> Vec<Range<usize>> {
        let is_plain = |found: &[u8]| self.values.iter().any(|value| value.expose_secret().as_bytes() == found);
        let is_shared = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte);
        let places = patterns.known.find_iter(bytes).map(|found| {
            let Range { mut start, mut end } = found.range();
            if !is_plain(found.as_bytes()) {
                start -= usize::from(bytes[..start].last().is_some_and(|byte| is_shared(*byte)));
                end += usize::from(bytes.get(end).is_some_and(|byte| is_shared(*byte)));
                end += bytes[end..].iter().take(2).take_while(|byte| **byte == b'=').count();
            }
            start..end
        });
        places.collect()
    }

    /// The same for bytes that broke off: the beginning of a secret at their end goes too.
    pub fn clean_broken(&self, bytes: Bytes) -> Bytes {
        let cleaned = self.clean(bytes);
        let begun = |value: &SecretString| {
            let value = value.expose_secret().as_bytes();
            (SHORTEST..value.len()).rev().find(|length| cleaned.ends_with(&value[..*length]))
        };
        match self.values.iter().filter_map(begun).max() {
            Some(length) => [&cleaned[..cleaned.len() - length], REMOVED.as_bytes()].concat().into(),
            None => cleaned,
        }
    }

    /// The text without secrets.
    pub fn clean_text(&self, text: String) -> String {
        String::from_utf8_lossy(&self.clean(text.into())).into_owned()
    }

    /// What is kept of bytes that came in: all without secrets, or the beginning where they did not come to their end.
    pub fn captured(&self, bytes: Bytes, is_whole: bool) -> Bytes {
        if is_whole {
            return self.clean(bytes);
        }
        let mut cleaned = self.clean_broken(bytes);
        cleaned.truncate(KEPT);
        cleaned
    }
}

impl Patterns {
    fn new(values: &[SecretString]) -> Result<Self, regex::Error> {
        let values = values.iter().map(ExposeSecret::expose_secret);
        let encoded: Vec<String> = values.clone().flat_map(|value| encodings(value.as_bytes())).collect();
        let forms: Vec<&str> = values.chain(encoded.iter().map(String::as_str)).collect();
        let any = |patterns: Vec<String>| Regex::new(&patterns.join("|"));
        // A backslash before one of these can only hide a form that holds it.
        let held = ESCAPES.iter().filter(|(_, byte)| forms.iter().any(|form| form.as_bytes().contains(byte)));
        let escapes = held.map(|(name, _)| format!(r"\\{}", regex::escape(&char::from(*name).to_string())));
        Ok(Self {
            known: any(forms.iter().map(|form| regex::escape(form)).collect())?,
            escape: any(escapes.chain([r"\\u|%[0-9A-Fa-f]{2}".to_owned()]).collect())?,
        })
    }
}

/// What stands for a character behind a backslash in JSON.
const ESCAPES: [(u8, u8); 6] =
    [(b'/', b'/'), (b'"', b'"'), (b'\\', b'\\'), (b'n', b'\n'), (b'r', b'\r'), (b't', b'\t')];

/// The bytes with every escape in the place of what it stands for.
fn unescaped(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let (length, character) = character(&bytes[at..]);
        plain.extend_from_slice(character.encode(&mut [0; 4]));
        at += length;
    }
    plain
}

/// The places in the source of places, in order, in what [`unescaped`] makes of it.
fn in_source(bytes: &[u8], places: &[Range<usize>]) -> Vec<Range<usize>> {
    let (mut at, mut plain) = (0, 0);
    let mut to = |wanted: usize| {
        while plain < wanted && at < bytes.len() {
            let (length, character) = character(&bytes[at..]);
            plain += character.encode(&mut [0; 4]).len();
            at += length;
        }
        at
    };
    places.iter().map(|place| to(place.start)..to(place.end)).collect()
}

/// A byte, or a character of several.
enum Character {
    Byte(u8),
    Char(char),
}

impl Character {
    fn encode<'b>(&self, buffer: &'b mut [u8; 4]) -> &'b [u8] {
        match self {
            Self::Byte(byte) => {
                buffer[0] = *byte;
                &buffer[..1]
            }
            Self::Char(character) => character.encode_utf8(buffer).as_bytes(),
        }
    }
}

/// The first character of some bytes, and how many bytes it takes there.
fn character(bytes: &[u8]) -> (usize, Character) {
    let number = |digits: Option<&[u8]>| u32::from_str_radix(std::str::from_utf8(digits?).ok()?, 16).ok();
    match bytes {
        [b'\\', b'u', ..] => number(bytes.get(2..6))
            .and_then(char::from_u32)
            .map_or((1, Character::Byte(b'\\')), |character| (6, Character::Char(character))),
        [b'\\', name, ..] => match ESCAPES.iter().find(|(escape, _)| escape == name) {
            Some((_, byte)) => (2, Character::Byte(*byte)),
            None => (1, Character::Byte(b'\\')),
        },
        [b'%', ..] => match number(bytes.get(1..3)).and_then(|code| u8::try_from(code).ok()) {
            Some(byte) => (3, Character::Byte(byte)),
            None => (1, Character::Byte(b'%')),
        },
        [byte, ..] => (1, Character::Byte(*byte)),
        [] => (0, Character::Byte(0)),
    }
}

/// The bytes with [`REMOVED`] in these places.
fn without(bytes: &[u8], places: &[Range<usize>]) -> Vec<u8> {
    let mut cleaned = Vec::with_capacity(bytes.len());
    let mut kept = 0;
    for place in places {
        cleaned.extend_from_slice(&bytes[kept..place.start]);
        cleaned.extend_from_slice(REMOVED.as_bytes());
        kept = place.end;
    }
    cleaned.extend_from_slice(&bytes[kept..]);
    cleaned
}

/// A value in hexadecimal digits, and what of it is the same in every base64 text that holds it: wherever it begins
/// there, some bits at its ends share a character with their neighbours.
fn encodings(value: &[u8]) -> BTreeSet<String> {
    const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bit = |at: usize| usize::from((value[at / 8] >> (7 - at % 8)) & 1);
    let base64 = |skipped: usize| -> String {
        let whole = (skipped..).step_by(6).take_while(|at| at + 6 <= 8 * value.len());
        whole.map(|at| char::from(STANDARD[(at..at + 6).fold(0, |sextet, at| (sextet << 1) | bit(at))])).collect()
    };
    let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
    // Behind no, two and one bytes of something else (modulo three), so many bits belong to a shared character.
    let texts = [0, 2, 4].map(base64);
    let for_addresses = texts.clone().map(|text| text.replace('+', "-").replace('/', "_"));
    [hex.to_uppercase(), hex].into_iter().chain(texts).chain(for_addresses).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(values: &[&str], text: &str) -> String {
        secrets(values).clean_text(text.to_owned())
    }

    fn secrets(values: &[&str]) -> Secrets {
        Secrets::new(values.iter().map(|value| SecretString::from(*value)).collect()).unwrap()
    }

    #[test]
    fn a_secret_is_found_in_every_spelling() {
        let key = "sk-a/b+\"1\"";
        for spelling in
            ["sk-a/b+\"1\"", r#"sk-a\/b+\"1\""#, "sk-a%2Fb%2b%221%22", r"\u0073\u006b-a\u002Fb\u002b\u00221\u0022"]
        {
            assert_eq!(clean(&[key], &format!("<{spelling}>")), "<[secret removed]>", "{spelling}");
        }
    }

    /// BY-06, law 2: a key within a basic-auth header, or echoed by a service in another encoding, is the key.
    #[test]
    fn a_secret_is_found_in_base64_and_hexadecimal_digits() {
        let key = "s3cret/Key+9?~~z";
        for encoded in [
            "czNjcmV0L0tleSs5P35+eg==",
            "czNjcmV0L0tleSs5P35-eg",
            "czNjcmV0L0tleSs5P35%2Beg%3D%3D",
            "7333637265742f4b65792b393f7e7e7a",
            "7333637265742F4B65792B393F7E7E7A",
        ] {
            assert_eq!(clean(&[key], &format!("<{encoded}>")), "<[secret removed]>", "{encoded}");
        }
        for (user, encoded) in [
            ("u:", "dTpzM2NyZXQvS2V5Kzk/fn56"),
            ("us:", "dXM6czNjcmV0L0tleSs5P35+eg=="),
            ("use:", "dXNlOnMzY3JldC9LZXkrOT9+fno="),
            ("use:", r"dXNlOnMzY3JldC9LZXkrOT9+fno="),
            ("u:", r"dTpzM2NyZXQvS2V5Kzk\/fn56"),
        ] {
            let cleaned = clean(&[key], &format!("Basic {encoded} ok"));
            assert!(cleaned.contains("[secret removed] ok"), "{user} {cleaned}");
        }
        assert_eq!(clean(&[key], "czNjcmV0L0tleTk5OTk5OQ=="), "czNjcmV0L0tleTk5OTk5OQ==", "another value stays");
    }

    #[test]
    fn the_longer_of_two_keys_goes_as_a_whole() {
        assert_eq!(clean(&["abcdefgh", "abcdefgh-1"], "abcdefgh-1 abcdefgh"), "[secret removed] [secret removed]");
    }

    #[test]
    fn what_holds_no_secret_is_not_copied() {
        let secrets = secrets(&["sk-12345678"]);
        let bytes = Bytes::from_static(b"{\"a\": \"sk-1234567\"}");
        assert_eq!(secrets.clean(bytes.clone()).as_ptr(), bytes.as_ptr());
        assert_eq!(secrets.clean_broken(bytes.clone()).as_ptr(), bytes.as_ptr());
        assert_eq!(clean(&["ollama", ""], "ollama"), "ollama");
    }

    /// What overlaps goes once, and what stands around it stays; a key of several lines is one key.
    #[test]
    fn places_in_escaped_text_are_found_again() {
        let secrets = secrets(&["sk-12345678", "line one\nline two"]);
        let text = r#"{"é": "\u00e9 \n %41", "a": "sk-12345678", "b": "s\u006b-12345678", "c": "line one\nline two"}"#;
        let cleaned =
            r#"{"é": "\u00e9 \n %41", "a": "[secret removed]", "b": "[secret removed]", "c": "[secret removed]"}"#;
        assert_eq!(secrets.clean_text(text.to_owned()), cleaned);
        let nested = r#"{"content": "{\"a\": \"\\u0073k-12345678\", \"b\": \"sk-12345678\"}"}"#;
        let cleaned = r#"{"content": "{\"a\": \"[secret removed]\", \"b\": \"[secret removed]\"}"}"#;
        assert_eq!(secrets.clean_text(nested.to_owned()), cleaned);
        for odd in ["\\", "%", "%4", "\\u12", "\\ud800 %zz", "%ff%00"] {
            assert_eq!(secrets.clean(Bytes::from(odd)), odd);
        }
    }

    #[test]
    fn a_secret_that_broke_off_is_removed() {
        let broken = |text: &'static str| secrets(&["sk-12345678"]).clean_broken(Bytes::from_static(text.as_bytes()));
        assert_eq!(broken("key sk-1234567"), "key [secret removed]");
        assert_eq!(broken("key sk-1234567."), "key sk-1234567.");
    }
}
