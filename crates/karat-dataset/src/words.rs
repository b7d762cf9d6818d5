//! Words of a text, with their places and hashes.

use std::ops::Range;

use karat_text::similar::fold;

use crate::hash::hash_bytes;

const SEED: u64 = 0x6b61_7261_7477_6f72;

/// A word, or a sign that carries meaning, such as `+` or `€`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// Its bytes in the text.
    pub place: Range<usize>,
    /// Hash of the word without case and with composed accents.
    pub hash: u64,
    /// True if it holds a digit.
    pub is_number: bool,
}

/// Cuts a text into words. White space and the punctuation of prose separate them and do not count, so that a comma more
/// makes no other text. Scripts without spaces (Chinese, Japanese, Thai and others) give a word for each character: a
/// sentence of theirs would be one word otherwise. A sign before a digit, where no word precedes it, belongs to the number:
/// -3 is another one than 3.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut is_open = false;
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        let end = at + character.len_utf8();
        let is_sign = matches!(character, '-' | '+' | '\u{2212}')
            && !is_open
            && !before.is_alphanumeric()
            && text[end..].starts_with(|next: char| next.is_ascii_digit());
        before = character;
        match kind(character) {
            _ if is_sign => {
                found.push(at..end);
                is_open = true;
            }
            Kind::Letter if is_open => {
                if let Some(word) = found.last_mut() {
                    word.end = end;
                }
            }
            Kind::Letter => {
                found.push(at..end);
                is_open = true;
            }
            Kind::Alone => {
                found.push(at..end);
                is_open = false;
            }
            Kind::Separator => is_open = false,
            Kind::Ignored => {}
        }
    }
    found.into_iter().map(|place| word(text, place)).collect()
}

fn word(text: &str, place: Range<usize>) -> Word {
    let written = &text[place.clone()];
    let hash = match written.is_ascii() {
        true if written.bytes().all(|byte| !byte.is_ascii_uppercase()) => hash_bytes(SEED, written.as_bytes()),
        true => hash_bytes(SEED, written.to_ascii_lowercase().as_bytes()),
        false => hash_bytes(SEED, fold(written).as_bytes()),
    };
    Word { place, hash, is_number: written.chars().any(char::is_numeric) }
}

enum Kind {
    Letter,
    /// A word of its own.
    Alone,
    Separator,
    Ignored,
}

fn kind(character: char) -> Kind {
    match character {
        '\u{300}'..='\u{36f}' => Kind::Letter,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}' => Kind::Ignored,
        _ if is_unspaced(character) => Kind::Alone,
        _ if character.is_alphanumeric() => Kind::Letter,
        _ if character.is_whitespace() || character.is_control() || is_prose_mark(character) => Kind::Separator,
        _ => Kind::Alone,
    }
}

/// Returns whether a character belongs to a script that writes no spaces between words.
fn is_unspaced(character: char) -> bool {
    matches!(u32::from(character),
        0x0e00..=0x0eff      // Thai, Lao
        | 0x1000..=0x109f    // Burmese
        | 0x1780..=0x17ff    // Khmer
        | 0x3040..=0x30ff    // Hiragana, Katakana
        | 0x3400..=0x4dbf    // Han
        | 0x4e00..=0x9fff
        | 0xf900..=0xfaff
        | 0x20000..=0x3ffff)
        && character.is_alphanumeric()
}

/// Returns whether a mark only structures prose. Signs of formulas, prices and addresses are none of these.
fn is_prose_mark(character: char) -> bool {
    matches!(
        character,
        '.' | ','
            | ';'
            | ':'
            | '!'
            | '?'
            | '\''
            | '"'
            | '('
            | ')'
            | '['
            | ']'
            | '{'
            | '}'
            | '_'
            | '`'
            | '…'
            | '–'
            | '—'
            | '„'
            | '“'
            | '”'
            | '‚'
            | '‘'
            | '’'
            | '«'
            | '»'
            | '¿'
            | '¡'
            | '、'
            | '。'
            | '「'
            | '」'
            | '，'
            | '！'
            | '？'
            | '：'
            | '；'
            | '•'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        words(text).into_iter().map(|word| &text[word.place]).collect()
    }

    /// BC-03: scripts without spaces have a word for each character; signs of formulas count, those of prose do not.
    #[test]
    fn words_are_found_in_every_script() {
        assert_eq!(texts("Don't stop, now!"), ["Don", "t", "stop", "now"]);
        assert_eq!(texts("東京は大きい。"), ["東", "京", "は", "大", "き", "い"]);
        assert_eq!(texts("3+4 = €7"), ["3", "+", "4", "=", "€", "7"]);
        assert_eq!(texts("हिन्दी में"), texts("हिन्दी में"));
        assert_eq!(texts("\r\n \u{feff}"), [""; 0]);
    }

    /// BC-03: case and composition of accents make no other word.
    #[test]
    fn a_word_is_the_same_in_every_spelling() {
        assert_eq!(words("J\u{d6}RG")[0].hash, words("jo\u{308}rg")[0].hash);
        assert_ne!(words("jorg")[0].hash, words("jörg")[0].hash);
        assert!(words("B12")[0].is_number && !words("B")[0].is_number);
    }

    /// BC-03: a sign directly before a number is part of it, one between words or numbers is not.
    #[test]
    fn a_sign_belongs_to_its_number() {
        assert_eq!(texts("was -3 or (+4.5) or \u{2212}7"), ["was", "-3", "or", "+4", "5", "or", "\u{2212}7"]);
        assert_eq!(
            texts("3-4, a-1, 5 - 3, e\u{301}-2"),
            ["3", "-", "4", "a", "-", "1", "5", "-", "3", "e\u{301}", "-", "2"]
        );
        assert_ne!(words("-3")[0].hash, words("3")[0].hash);
        assert!(words("-3")[0].is_number);
    }
}
