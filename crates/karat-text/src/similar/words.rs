//! Words of a text, with their places and what they decide.

use std::ops::Range;

use super::lexicon::{self, WordKind};

/// A word, or a sign that carries meaning, such as `+` or `€`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Its bytes in the text.
    pub place: Range<usize>,
    /// True if it holds a digit.
    pub is_number: bool,
}

impl WordKind {
    /// True for words of which another one makes another statement, in a text of any length.
    pub fn decides(self) -> bool {
        matches!(self, Self::Deciding | Self::NumberWord | Self::Number | Self::Negating)
    }
}

/// Cuts a text into words. White space and the punctuation of prose separate them and do not count, so that a comma more
/// makes no other text. Scripts without spaces (Chinese, Japanese, Thai and others) give a word for each character: a
/// sentence of theirs would be one word otherwise. A sign before a digit, where no word precedes it, belongs to the number:
/// -3 is another one than 3. So does a mark between two digits: 1:5 is another one than 1.5.
pub fn words(text: &str) -> Vec<Word> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut is_open = false;
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        let end = at + character.len_utf8();
        let rest = &text[end..];
        let is_before_digit = rest.starts_with(|next: char| next.is_ascii_digit());
        let is_sign = match character {
            '-' | '+' | '\u{2212}' => !is_open && !before.is_alphanumeric() && begins_number(rest),
            '.' => !is_open && (before.is_whitespace() || before == '(') && is_before_digit,
            _ => false,
        };
        let is_between_digits = before.is_ascii_digit() && is_before_digit;
        let is_in_number =
            is_between_digits && matches!(character, '.' | ',' | ':' | '\'' | '’' | '\u{a0}' | '\u{202f}');
        before = character;
        match kind(character) {
            _ if is_in_number || is_open && character == '.' && is_signed_point(text, at, is_before_digit) => {}
            CharacterKind::Separator if is_between_digits && matches!(character, '–' | '—') => {
                found.push(at..end);
                is_open = false;
            }
            _ if is_sign => {
                found.push(at..end);
                is_open = true;
            }
            CharacterKind::Letter if is_open => {
                if let Some(word) = found.last_mut() {
                    word.end = end;
                }
            }
            CharacterKind::Letter => {
                found.push(at..end);
                is_open = true;
            }
            CharacterKind::Alone => {
                found.push(at..end);
                is_open = false;
            }
            CharacterKind::Separator => is_open = false,
            CharacterKind::Ignored => {}
        }
    }
    let word = |place: Range<usize>| Word { is_number: text[place.clone()].chars().any(char::is_numeric), place };
    found.into_iter().map(word).collect()
}

/// True for text that goes on with a number: 5, or .5.
fn begins_number(text: &str) -> bool {
    text.strip_prefix('.').unwrap_or(text).starts_with(|next: char| next.is_ascii_digit())
}

/// True for the point of -.5.
fn is_signed_point(text: &str, at: usize, is_before_digit: bool) -> bool {
    is_before_digit && text[..at].ends_with(['-', '+', '\u{2212}'])
}

/// The kind of each word of a text.
pub fn kinds(text: &str, words: &[Word]) -> Vec<WordKind> {
    // In a text of capitals alone, a capital says nothing.
    let has_case = text.chars().any(char::is_lowercase);
    let mut kinds: Vec<WordKind> = Vec::with_capacity(words.len());
    for (at, word) in words.iter().enumerate() {
        let between = &text[at.checked_sub(1).map_or(0, |before| words[before].place.end)..word.place.start];
        let before = Before { kind: kinds.last().copied(), between };
        kinds.push(kind_of_word(text, word, &before, has_case));
    }
    kinds
}

/// The text before a word.
struct Before<'a> {
    kind: Option<WordKind>,
    between: &'a str,
}

impl Before<'_> {
    fn begins_sentence(&self) -> bool {
        self.kind.is_none()
            || self.kind == Some(WordKind::Mark)
            || self.between.contains(['.', '!', '?', ':', ';', '\n', '…', '•', '。', '！', '？'])
    }

    /// True after a number that the word may be the unit of.
    fn is_number(&self) -> bool {
        matches!(self.kind, Some(WordKind::Number | WordKind::NumberWord))
            && !self.between.contains(['.', ',', '!', '?', ':', ';', '\n'])
    }
}

fn kind_of_word(text: &str, word: &Word, before: &Before<'_>, has_case: bool) -> WordKind {
    let written = &text[word.place.clone()];
    let Some(first) = written.chars().next() else { return WordKind::Mark };
    if word.is_number {
        return WordKind::Number;
    }
    if !first.is_alphanumeric() {
        return if is_deciding_sign(text, word, first) { WordKind::Deciding } else { WordKind::Mark };
    }
    let is_negation = matches!(written, "t" | "T") && before.between.ends_with(['\'', '’', 'ʼ']);
    let listed = if is_negation { Some(WordKind::Negating) } else { lexicon::kind_of(&written.to_lowercase()) };
    let is_capital = has_case && written.chars().any(char::is_uppercase) && written != "I";
    let only_first = written.chars().skip(1).all(|it| !it.is_uppercase());
    match (listed, is_capital) {
        // Within a sentence, "The Hague" and "vitamin A" hold names.
        (Some(WordKind::Filler | WordKind::Common) | None, true) if !(before.begins_sentence() && only_first) => {
            WordKind::Deciding
        }
        (Some(listed), _) => listed,
        (None, _) if before.is_number() => WordKind::Deciding,
        (None, true) => WordKind::Opening,
        (None, false) => WordKind::Plain,
    }
}

/// True for signs of numbers, prices, units and formulas, and for pictures; false for what only structures a text.
fn is_deciding_sign(text: &str, word: &Word, sign: char) -> bool {
    let (before, after) = (&text[..word.place.start], &text[word.place.end..]);
    let is_digit = |it: char| it.is_numeric();
    let is_by_number = before.trim_end().ends_with(is_digit) || after.trim_start().starts_with(is_digit);
    match sign {
        '%' | '‰' | '°' | '§' | '\u{20a0}'..='\u{20cf}' | '$' | '£' | '¥' | '¢' => true,
        '-' | '\u{2212}' | '–' | '—' => is_by_number,
        '·' | '▪' | '■' | '●' | '◦' | '►' | '‣' | '*' => is_by_number,
        '#' => is_by_number || before.ends_with(char::is_alphanumeric),
        // Quotes and tables of Markdown.
        '>' | '|' => {
            !before.trim_end_matches([' ', '>']).is_empty() && !before.trim_end_matches([' ', '>']).ends_with('\n')
        }
        _ => true,
    }
}

enum CharacterKind {
    Letter,
    /// A word of its own.
    Alone,
    Separator,
    Ignored,
}

fn kind(character: char) -> CharacterKind {
    match character {
        '\u{300}'..='\u{36f}' => CharacterKind::Letter,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}' => {
            CharacterKind::Ignored
        }
        _ if is_unspaced(character) => CharacterKind::Alone,
        _ if character.is_alphanumeric() => CharacterKind::Letter,
        _ if character.is_whitespace() || character.is_control() || is_prose_mark(character) => {
            CharacterKind::Separator
        }
        _ => CharacterKind::Alone,
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

    /// F12: a mark within a number is part of it, since 1:5, 1.5 and 15 are three numbers.
    #[test]
    fn marks_within_numbers_belong_to_them() {
        assert_eq!(
            texts("1:5, 1.5 or 15. 3–4, .5 and -.5"),
            ["1:5", "1.5", "or", "15", "3", "–", "4", ".5", "and", "-.5"]
        );
        assert_eq!(texts("at 10:30, 1,000.50"), ["at", "10:30", "1,000.50"]);
    }

    /// F12: numbers, units, names, negations and directions are known as what decides.
    #[test]
    fn deciding_words_are_known() {
        let deciding = |text: &str| -> Vec<String> {
            let words = words(text);
            let kinds = kinds(text, &words);
            let decides = words.iter().zip(kinds).filter(|(_, kind)| kind.decides());
            decides.map(|(word, _)| text[word.place.clone()].to_owned()).collect()
        };
        assert_eq!(deciding("The drug does not lower it by 4 mg in Berlin."), ["not", "lower", "4", "mg", "Berlin"]);
        assert_eq!(deciding("He doesn't see it. Sales of C# rose 5 %"), ["t", "C", "#", "rose", "5", "%"]);
        assert_eq!(deciding("# Heading\n> a *bold* word - nothing more"), ["nothing", "more"]);
        assert_eq!(deciding("der Umsatz stieg nicht"), ["Umsatz", "stieg", "nicht"]);
        assert_eq!(deciding("他不来"), ["不"]);
        assert_eq!(deciding("THE SEA IS CALM"), [""; 0]);
    }

    /// BC-03: a sign directly before a number is part of it, one between words or numbers is not.
    #[test]
    fn a_sign_belongs_to_its_number() {
        assert_eq!(texts("was -3 or (+4.5) or \u{2212}7"), ["was", "-3", "or", "+4.5", "or", "\u{2212}7"]);
        assert_eq!(
            texts("3-4, a-1, 5 - 3, e\u{301}-2"),
            ["3", "-", "4", "a", "-", "1", "5", "-", "3", "e\u{301}", "-", "2"]
        );
        assert!(words("-3")[0].is_number);
    }
}
