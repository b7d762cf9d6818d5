//! Sets of words, and how alike two are.

use std::borrow::Cow;

use super::tokens::alphanumeric_runs;

/// The distinct words of a text: its runs of Unicode letters and decimal digits, lower-cased, in order. Texts are
/// taken as they are: an accent typed as a mark of its own ends a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Words<'a>(Vec<Cow<'a, str>>);

impl<'a> Words<'a> {
    pub fn of(text: &'a str) -> Self {
        let mut words: Vec<Cow<'a, str>> = alphanumeric_runs(text).map(lowercase).collect();
        words.sort_unstable();
        words.dedup();
        Self(words)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The numbers of words that two sets share and have together.
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

/// The overlap of two sets.
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
    use super::*;

    /// SU-02: words are runs of Unicode letters and digits in lower case; a mark of its own is neither.
    #[test]
    fn words_are_runs_in_lower_case() {
        let text = "Réparer LA boucle_修正: Größe 42";
        let words = Words::of(text);
        assert_eq!(words.0, ["42", "boucle", "größe", "la", "réparer", "修正"]);
        assert_eq!(Words::of("re\u{301}parer").0, ["parer", "re"]);
    }
}
