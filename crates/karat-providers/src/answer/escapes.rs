//! Encodings of characters: in JSON and program literals, percent-encoded, in HTML, and quoted-printable.

use std::ops::Range;

/// Characters after a backslash, and the bytes they stand for.
pub(crate) const ESCAPES: [(u8, u8); 7] =
    [(b'/', b'/'), (b'"', b'"'), (b'\'', b'\''), (b'\\', b'\\'), (b'n', b'\n'), (b'r', b'\r'), (b't', b'\t')];

/// A pattern of escapes that can stand for any character, and of the escaped line break of a mail.
pub(crate) const NUMBERED: &str = r"\\u|\\x|%[0-9A-Fa-f]{2}|&(?:#|amp;|lt;|gt;|quot;|apos;)|=\\+[rn]";

/// A kind of encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// With a backslash, a percent sign or an ampersand. These do not interfere.
    Escapes,
    /// Quoted-printable: `=41`, and lines that end in `=` continue. Separate, because keys often end in `=`.
    QuotedPrintable,
}

impl Spelling {
    /// The bytes with all escapes undone.
    pub fn decode(self, bytes: &[u8]) -> Vec<u8> {
        let mut plain = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while at < bytes.len() {
            let (length, character) = self.character(&bytes[at..]);
            plain.extend_from_slice(character.encode(&mut [0; 4]));
            at += length;
        }
        plain
    }

    /// Maps places in the decoded bytes, in order, to places in the source.
    pub fn to_source(self, bytes: &[u8], places: &[Range<usize>]) -> Vec<Range<usize>> {
        let (mut at, mut plain) = (0, 0);
        let mut to = |wanted: usize| {
            while plain < wanted && at < bytes.len() {
                let (length, character) = self.character(&bytes[at..]);
                plain += character.encode(&mut [0; 4]).len();
                at += length;
            }
            at
        };
        places.iter().map(|place| to(place.start)..to(place.end)).collect()
    }

    /// The first character of some bytes, and its length there in bytes.
    fn character(self, bytes: &[u8]) -> (usize, Character) {
        match self {
            Self::Escapes => escaped_char(bytes),
            Self::QuotedPrintable => quoted_printable_char(bytes),
        }
    }
}

/// A decoded character: a byte, a character of several bytes, or none.
enum Character {
    Byte(u8),
    Char(char),
    Nothing,
}

impl Character {
    fn encode<'b>(&self, buffer: &'b mut [u8; 4]) -> &'b [u8] {
        match self {
            Self::Byte(byte) => {
                buffer[0] = *byte;
                &buffer[..1]
            }
            Self::Char(character) => character.encode_utf8(buffer).as_bytes(),
            Self::Nothing => &[],
        }
    }
}

fn number(digits: Option<&[u8]>) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits?).ok()?, 16).ok()
}

fn byte(digits: Option<&[u8]>) -> Option<u8> {
    u8::try_from(number(digits)?).ok()
}

fn quoted_printable_char(bytes: &[u8]) -> (usize, Character) {
    match bytes {
        [b'=', b'\r', b'\n', ..] => (3, Character::Nothing),
        [b'=', b'\n', ..] => (2, Character::Nothing),
        [b'=', ..] => byte(bytes.get(1..3)).map_or((1, Character::Byte(b'=')), |byte| (3, Character::Byte(byte))),
        [byte, ..] => (1, Character::Byte(*byte)),
        [] => (0, Character::Nothing),
    }
}

fn escaped_char(bytes: &[u8]) -> (usize, Character) {
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
        [] => (0, Character::Nothing),
    }
}

/// An HTML entity's character, and the length of the entity in bytes.
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
