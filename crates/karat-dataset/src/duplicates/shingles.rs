//! Shingles: the overlapping pieces of a text that two texts may share.

use karat_text::similar::fold;

use crate::hash::{HashedWord, hashed_words, join, mix};

/// Texts below this number of words are compared by characters: a word more would change half of their word shingles.
pub(crate) const FEW_WORDS: usize = 20;

const WORDS: usize = 3;
const CHARACTERS: usize = 4;

/// A text as it is compared.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Shingled {
    /// Hashes of word shingles, sorted; `None` for a text of few words.
    pub words: Option<Box<[u64]>>,
    /// Hashes of character shingles, sorted; `None` for a text that no text of few words resembles.
    pub characters: Option<Box<[u64]>>,
}

impl Shingled {
    /// Cuts a text. Texts are similar from `cut` on.
    pub fn new(text: &str, cut: f64) -> Self {
        let found = hashed_words(text);
        let count = found.len();
        // A text of 20 words resembles one of 19, which has no word shingles.
        let has_short_twin = (count as f64) * cut <= FEW_WORDS as f64;
        Self {
            words: (count >= FEW_WORDS).then(|| set(word_shingles(&found))),
            characters: (count < FEW_WORDS || has_short_twin).then(|| set(character_shingles(&fold(text)))),
        }
    }
}

/// The character shingles of a text of any length, sorted.
pub(crate) fn character_set(text: &str) -> Box<[u64]> {
    set(character_shingles(&fold(text)))
}

fn set(mut hashes: Vec<u64>) -> Box<[u64]> {
    hashes.sort_unstable();
    hashes.dedup();
    hashes.into()
}

fn word_shingles(words: &[HashedWord]) -> Vec<u64> {
    let shingles = words.windows(WORDS);
    shingles.map(|shingle| mix(shingle.iter().fold(1, |hash, word| join(hash, word.hash)))).collect()
}

fn character_shingles(folded: &str) -> Vec<u64> {
    let characters: Vec<u64> = folded.chars().map(|it| u64::from(u32::from(it))).collect();
    let size = CHARACTERS.min(characters.len()).max(1);
    characters.windows(size).map(|shingle| mix(shingle.iter().fold(2, |hash, it| join(hash, mix(*it))))).collect()
}

/// Size of the intersection of two sorted sets divided by that of their union; 0 where the sizes rule out `cut`.
pub(crate) fn jaccard<T: Ord>(a: &[T], b: &[T], cut: f64) -> f64 {
    let (less, more) = (a.len().min(b.len()), a.len().max(b.len()));
    if more == 0 || (less as f64) < cut * more as f64 {
        return 0.0;
    }
    let (mut left, mut right, mut common) = (0, 0, 0_usize);
    while let (Some(one), Some(other)) = (a.get(left), b.get(right)) {
        let order = one.cmp(other);
        left += usize::from(order.is_le());
        right += usize::from(order.is_ge());
        common += usize::from(order.is_eq());
    }
    common as f64 / (a.len() + b.len() - common) as f64
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the sets are small and the quotients exact")]
mod tests {
    use super::*;

    #[test]
    fn the_jaccard_index_is_that_of_sets() {
        assert_eq!(jaccard(&[1, 2, 3], &[2, 3, 4], 0.0), 0.5);
        assert_eq!(jaccard(&[1], &[1, 2, 3], 0.5), 0.0);
        assert_eq!(jaccard::<u8>(&[], &[], 0.0), 0.0);
        assert_eq!(jaccard(&[5, 9], &[5, 9], 1.0), 1.0);
    }

    /// BC-03: texts of few words are cut by characters, long ones by words, those between by both.
    #[test]
    fn short_texts_are_cut_by_characters() {
        let text = |n: usize| (0..n).map(|at| format!("word{at}")).collect::<Vec<_>>().join(" ");
        let forms = |n| {
            let cut = Shingled::new(&text(n), 0.8);
            (cut.words.is_some(), cut.characters.is_some())
        };
        assert_eq!(
            (forms(19), forms(20), forms(25), forms(26)),
            ((false, true), (true, true), (true, true), (true, false))
        );
        assert_eq!(Shingled::new("ab", 0.8).characters.map(|set| set.len()), Some(1));
    }
}
