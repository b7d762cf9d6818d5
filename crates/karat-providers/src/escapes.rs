//! Characters that are spelled differently: in JSON and in programs' literals, percent-encoded, and in HTML.

use std::ops::Range;

/// What stands for a character behind a backslash.
pub(crate) const ESCAPES: [(u8, u8); 7] =
    [(b'/', b'/'), (b'"', b'"'), (b'\'', b'\''), (b'\\', b'\\'), (b'n', b'\n'), (b'r', b'\r'), (b't', b'\t')];

/// A pattern of what can stand for any character.
pub(crate) const NUMBERED: &str = r"\\u|\\x|%[0-9A-Fa-f]{2}|&(?:#|amp;|lt;|gt;|quot;|apos;)";

/// The bytes with every escape in the place of what it stands for.
pub(crate) fn unescaped(bytes: &[u8]) -> Vec<u8> {
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
pub(crate) fn in_source(bytes: &[u8], places: &[Range<usize>]) -> Vec<Range<usize>> {
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
    let byte = |digits: Option<&[u8]>| u8::try_from(number(digits)?).ok();
    match bytes {
        [b'\\', b'u', ..] => number(bytes.get(2..6))
            .and_then(char::from_u32)
            .map_or((1, Character::Byte(b'\\')), |character| (6, Character::Char(character))),
        [b'\\', b'x', ..] => match byte(bytes.get(2..4)) {
            Some(byte) => (4, Character::Byte(byte)),
            None => (1, Character::Byte(b'\\')),
        },
        [b'\\', name, ..] => match ESCAPES.iter().find(|(escape, _)| escape == name) {
            Some((_, byte)) => (2, Character::Byte(*byte)),
            None => (1, Character::Byte(b'\\')),
        },
        [b'%', ..] => match byte(bytes.get(1..3)) {
            Some(byte) => (3, Character::Byte(byte)),
            None => (1, Character::Byte(b'%')),
        },
        [b'&', ..] => entity(bytes).map_or((1, Character::Byte(b'&')), |(length, it)| (length, Character::Char(it))),
        [byte, ..] => (1, Character::Byte(*byte)),
        [] => (0, Character::Byte(0)),
    }
}

/// A character as HTML spells it, and how many bytes that takes.
fn entity(bytes: &[u8]) -> Option<(usize, char)> {
    let end = bytes.iter().take(10).position(|byte| *byte == b';')?;
    let character = match std::str::from_utf8(&bytes[1..end]).ok()? {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        name => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(code)?
        }
    };
    Some((end + 1, character))
}
