//! Sets of words, and how alike two are.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::tokens::alphanumeric_runs;

/// The distinct words of a text: its runs of Unicode letters and decimal digits, lower-cased, in order. The text is taken
/// in its composed form (NFC), so that `é` is one letter however it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Words<'a>(Vec<Cow<'a, str>>);

impl<'a> Words<'a> {
    pub fn of(text: &'a str) -> Self {
        let mut words: Vec<Cow<'a, str>> = if is_nfc_quick(text.chars()) == IsNormalized::Yes {
            alphanumeric_runs(text).map(lowercase).collect()
        } else {
            let composed: String = text.nfc().collect();
            alphanumeric_runs(&composed).map(|word| Cow::Owned(word.to_lowercase())).collect()
        };
        words.sort_unstable();
        words.dedup();
        Self(words)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// How many words two sets share, and how many they have together.
    pub fn overlap(&self, other: &Self) -> Shared {
        let (mut mine, mut theirs, mut shared) = (self.0.as_slice(), other.0.as_slice(), 0);
        while let (Some((a, after_a)), Some((b, after_b))) = (mine.split_first(), theirs.split_first()) {
            match a.cmp(b) {
                std::cmp::Ordering::Less => mine = after_a,
                std::cmp::Ordering::Greater => theirs = after_b,
                std::cmp::Ordering::Equal => {
                    shared += 1;
                    (mine, theirs) = (after_a, after_b);
                }
            }
        }
        Shared { shared, all: self.len() + other.len() - shared }
    }
}

/// What two sets have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shared {
    pub shared: usize,
    pub all: usize,
}

impl Shared {
    /// |A∩B| / |A∪B|; 1 where both sets are empty.
    pub fn jaccard(self) -> f64 {
        match self.all {
            0 => 1.0,
            all => self.shared as f64 / all as f64,
        }
    }
}

fn lowercase(word: &str) -> Cow<'_, str> {
    let is_lower = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if is_lower { Cow::Borrowed(word) } else { Cow::Owned(word.to_lowercase()) }
}

#[cfg(test)]
mod tests {
    use unicode_normalization::UnicodeNormalization;

    use super::*;

    /// SU-02: words are runs of Unicode letters and digits in lower case, whichever way accents were typed.
    #[test]
    fn words_are_composed_and_lower_cased() {
        let text = "Réparer LA boucle_修正: Größe 42";
        let words = Words::of(text);
        assert_eq!(words.0, ["42", "boucle", "größe", "la", "réparer", "修正"]);
        let decomposed: String = text.nfd().collect();
        assert_ne!(decomposed, text);
        assert_eq!(Words::of(&decomposed), words);
    }
}
