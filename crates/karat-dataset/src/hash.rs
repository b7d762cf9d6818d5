//! A seeded 64-bit hash: the same on every platform and version, so that a draw or a cluster can be made again.

use std::ops::Range;

use karat_text::similar::{fold, words};

const WORD_SEED: u64 = 0x6b61_7261_7477_6f72;

/// The finaliser of SplitMix64: a bijection in which every input bit reaches every output bit.
pub(crate) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The hash of bytes.
pub(crate) fn hash_bytes(seed: u64, bytes: &[u8]) -> u64 {
    let mut hash = mix(seed ^ bytes.len() as u64);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = join(hash, u64::from_le_bytes(word));
    }
    mix(hash)
}

/// The hash of a sequence from that of its beginning and its next element. The order counts.
pub(crate) fn join(hash: u64, next: u64) -> u64 {
    let product = (hash ^ next).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (product ^ (product >> 32)).rotate_left(17)
}

/// A word of a text, by its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HashedWord {
    /// Its bytes in the text.
    pub place: Range<usize>,
    /// Hash of the word without case and with composed accents.
    pub hash: u64,
}

/// The words of a text; see [`words`].
pub(crate) fn hashed_words(text: &str) -> Vec<HashedWord> {
    words(text)
        .into_iter()
        .map(|word| HashedWord { hash: hash_word(&text[word.place.clone()]), place: word.place })
        .collect()
}

/// The hash of a word without case and with composed accents.
pub(crate) fn hash_word(written: &str) -> u64 {
    match written.is_ascii() {
        true if written.bytes().all(|byte| !byte.is_ascii_uppercase()) => hash_bytes(WORD_SEED, written.as_bytes()),
        true => hash_bytes(WORD_SEED, written.to_ascii_lowercase().as_bytes()),
        false => hash_bytes(WORD_SEED, fold(written).as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_order_count() {
        assert_ne!(hash_bytes(1, b"a"), hash_bytes(1, b"a\0"));
        assert_ne!(hash_bytes(1, b"a"), hash_bytes(2, b"a"));
        assert_ne!(join(join(0, 1), 2), join(join(0, 2), 1));
    }

    /// BC-03: case and composition of accents make no other word.
    #[test]
    fn a_word_is_the_same_in_every_spelling() {
        assert_eq!(hash_word("J\u{d6}RG"), hash_word("jo\u{308}rg"));
        assert_ne!(hash_word("jorg"), hash_word("jörg"));
        assert_ne!(hash_word("-3"), hash_word("3"));
    }
}
