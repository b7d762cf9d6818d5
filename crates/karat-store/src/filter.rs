//! Keys that are certainly not there: a Bloom filter in blocks of one cache line
//! (Putze, Sanders, Singler: *Cache-, Hash- and Space-Efficient Bloom Filters*, 2007).

use karat_types::Key;

/// Lines of 512 bits, 2 MiB in all: of a million keys, one look-up in 200 says "maybe" of a key that is not there; of five
/// million one in four.
const LINES: usize = 1 << 15;

/// Bits of its line that a key sets.
const BITS: usize = 4;

/// A set of keys that may take one for a member that is none, and never the other way round.
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

    /// Whether a key may be one of those that were added.
    pub fn may_hold(&self, key: Key) -> bool {
        let (line, bits) = place(key);
        bits.into_iter().all(|bit| self.0[line][bit / 64] & (1 << (bit % 64)) != 0)
    }
}

/// Keys are hashes, so their own bits say where: the line, and bits in it.
fn place(key: Key) -> (usize, [usize; BITS]) {
    let hash = u128::from_le_bytes(key.0);
    let bit = |at: usize| (hash >> (64 + 9 * at)) as usize % 512;
    (hash as usize % LINES, std::array::from_fn(bit))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BY-06: what was added is never denied; of what was not, nearly all is.
    #[test]
    fn what_was_added_is_held() {
        let key = |n: u32| Key::of("test", &n.to_le_bytes());
        let mut filter = KeyFilter::new();
        assert!((0..1000).all(|n| !filter.may_hold(key(n))));
        (0..100_000).for_each(|n| filter.add(key(n)));
        assert!((0..100_000).all(|n| filter.may_hold(key(n))));
        assert!((100_000..200_000).filter(|n| filter.may_hold(key(*n))).count() < 100);
    }
}
