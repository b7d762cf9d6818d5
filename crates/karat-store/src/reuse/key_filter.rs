//! Recognizes keys that are certainly absent: a Bloom filter in blocks of one cache line
//! (Putze, Sanders, Singler: *Cache-, Hash- and Space-Efficient Bloom Filters*, 2007).

use karat_types::Key;

/// Number of 512-bit lines, 2 MiB in all. With a million keys, one look-up in 200 of an absent key answers "maybe";
/// with five million, one in four.
const LINES: usize = 1 << 15;

/// Bits that a key sets in its line.
const BITS: usize = 4;

/// A set of keys with false positives and no false negatives.
#[derive(Debug)]
pub(crate) struct KeyFilter(Box<[[u64; 8]]>);

impl KeyFilter {
    pub fn new() -> Self {
        Self(vec![[0; 8]; LINES].into())
    }

    pub fn add(&mut self, key: Key) {
        let (line, bits) = place(key);
        for bit in bits {
            self.0[line][bit / 64] |= 1 << (bit % 64);
        }
    }

    /// Returns `true` if the key may have been added.
    pub fn may_contain(&self, key: Key) -> bool {
        let (line, bits) = place(key);
        bits.into_iter().all(|bit| self.0[line][bit / 64] & (1 << (bit % 64)) != 0)
    }
}

/// Returns the line of a key and its bits in the line. Keys are hashes, so their own bits serve.
fn place(key: Key) -> (usize, [usize; BITS]) {
    let hash = u128::from_le_bytes(key.0);
    let bit = |at: usize| (hash >> (64 + 9 * at)) as usize % 512;
    (hash as usize % LINES, std::array::from_fn(bit))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BY-06: an added key is always found; an absent one is nearly always rejected.
    #[test]
    fn added_keys_are_found() {
        let key = |n: u32| Key::of("test", &n.to_le_bytes());
        let mut filter = KeyFilter::new();
        assert!((0..1000).all(|n| !filter.may_contain(key(n))));
        (0..100_000).for_each(|n| filter.add(key(n)));
        assert!((0..100_000).all(|n| filter.may_contain(key(n))));
        assert!((100_000..200_000).filter(|n| filter.may_contain(key(*n))).count() < 100);
    }
}
