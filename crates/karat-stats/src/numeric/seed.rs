//! Seeds and the generators derived from them.

use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// The seed of a random method. It travels with every result it produced.
///
/// The generator is pinned to ChaCha8, whose output is the same on every platform and version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seed(pub u64);

impl Seed {
    /// Independent stream number `index` of this seed.
    ///
    /// Work is cut into fixed chunks with one stream each, so that one thread and many produce the
    /// same result.
    pub fn stream(self, index: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.0);
        rng.set_stream(index);
        rng
    }

    /// A seed for a part of the work, such as one metric of many, independent of its siblings.
    pub fn derive(self, label: u64) -> Self {
        // SplitMix64's finaliser: a bijection in which every input bit reaches every output bit.
        let mut z = self.0 ^ label.wrapping_add(0x9e37_79b9_7f4a_7c15).rotate_left(32);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self(z ^ (z >> 31))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::Rng;

    #[test]
    fn the_generator_is_pinned() {
        let mut rng = Seed(7).stream(0);
        let again: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        let mut rng = Seed(7).stream(0);
        assert_eq!(again, (0..3).map(|_| rng.next_u64()).collect::<Vec<_>>());
        assert_ne!(again[0], Seed(7).stream(1).next_u64());
        assert_ne!(again[0], Seed(8).stream(0).next_u64());
    }

    #[test]
    fn derived_seeds_differ_from_each_other() {
        let seeds: std::collections::BTreeSet<Seed> = (0..1000).map(|i| Seed(1).derive(i)).collect();
        assert_eq!(seeds.len(), 1000);
    }
}
