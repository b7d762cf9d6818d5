//! Counting tokens with the one tokenizer that plans use.
//!
//! Chunk boundaries depend on it, so it is always built in and named in the plan. Models count differently: a count is
//! exact for the tokenizer and an estimate for a model.

use std::sync::LazyLock;

use tiktoken_rs::CoreBPE;

/// Bytes that are handed to the tokenizer at once. A bound is needed because its regular expressions look back.
const WINDOW: usize = 32 * 1024;

/// The tokenizer of plans: `o200k_base`, shared by everyone. Its tables are read at first use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tokenizer(());

impl Tokenizer {
    /// Its name in plans.
    pub const NAME: &'static str = "o200k_base";

    /// The shared instance.
    pub const fn plan() -> Self {
        Self(())
    }

    /// Its name in plans.
    pub const fn name(self) -> &'static str {
        Self::NAME
    }

    /// Returns the number of tokens of a text. Linear in its length.
    pub fn count(self, text: &str) -> usize {
        windows(text).map(|window| table().encode_ordinary(window).len()).sum()
    }

    /// True if a text has at most `limit` tokens. Free where its length says so already.
    pub fn fits(self, text: &str, limit: usize) -> bool {
        if text.len() <= limit {
            return true;
        }
        let mut tokens = 0;
        windows(text).all(|window| {
            tokens += table().encode_ordinary(window).len();
            tokens <= limit
        })
    }

    /// Byte offsets at which the tokens end, ascending; the last is the text's length. A token may end within a
    /// character.
    pub fn ends(self, text: &str) -> Vec<usize> {
        let (table, lengths) = (table(), lengths());
        let mut at = 0;
        windows(text)
            .flat_map(|window| table.encode_ordinary(window))
            .map(|token| {
                at += lengths.get(token as usize).copied().map_or(0, usize::from);
                at
            })
            .collect()
    }
}

fn table() -> &'static CoreBPE {
    tiktoken_rs::o200k_base_singleton()
}

/// Bytes of each token. Apart from the table: most runs only count tokens.
fn lengths() -> &'static [u16] {
    static LENGTHS: LazyLock<Vec<u16>> = LazyLock::new(|| {
        (0..200_000).map(|token| table().decode_bytes(&[token]).map_or(0, |bytes| bytes.len() as u16)).collect()
    });
    &LENGTHS
}

/// The text in stretches of about [`WINDOW`] bytes. They meet where white space follows a letter or digit, which no
/// token spans; only a longer stretch without any such place is cut elsewhere.
fn windows(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (window, after) = rest.split_at(window_end(rest));
        rest = after;
        Some(window)
    })
}

fn window_end(text: &str) -> usize {
    if text.len() <= WINDOW {
        return text.len();
    }
    let limit = text.floor_char_boundary(WINDOW);
    let mut later: Option<char> = None;
    for (at, character) in text[..limit].char_indices().rev() {
        if later.is_some_and(char::is_whitespace) && character.is_alphanumeric() {
            return at + character.len_utf8();
        }
        later = Some(character);
    }
    limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_o200k_base() {
        let tokenizer = Tokenizer::plan();
        assert_eq!(tokenizer.count(""), 0);
        assert_eq!(tokenizer.count("hello world"), 2);
        assert_eq!(tokenizer.count("The moon pulls the sea."), 6);
        assert_eq!(tokenizer.name(), "o200k_base");
    }

    #[test]
    fn windows_do_not_change_the_count() {
        let text =
            "It was 1,234 degrees, she said; it's the don't-care  case.\n\nÜber \u{1F600} 東京です。\n".repeat(1500);
        assert!(text.len() > 3 * WINDOW);
        assert_eq!(Tokenizer::plan().count(&text), table().encode_ordinary(&text).len());
    }

    #[test]
    fn ends_cover_the_text() {
        let text = "Über \u{1F600} das Meer, 東京です。";
        let ends = Tokenizer::plan().ends(text);
        assert_eq!(ends.len(), Tokenizer::plan().count(text));
        assert_eq!(ends.last(), Some(&text.len()));
        assert!(ends.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn fits_agrees_with_count() {
        let text = "one two three ".repeat(400);
        let count = Tokenizer::plan().count(&text);
        assert!(Tokenizer::plan().fits(&text, count));
        assert!(!Tokenizer::plan().fits(&text, count - 1));
    }

    /// Text without a place to cut, and white space on which a naive matcher runs away.
    #[test]
    fn odd_long_texts_are_counted() {
        for text in [" ".repeat(200_000), "a".repeat(200_000), "\n \t".repeat(60_000), "漢".repeat(60_000)] {
            let ends = Tokenizer::plan().ends(&text);
            assert_eq!(ends.last(), Some(&text.len()));
        }
    }
}
