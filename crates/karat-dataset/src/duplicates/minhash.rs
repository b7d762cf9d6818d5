//! MinHash: a signature of a set whose places agree, between two sets, in the share of their Jaccard index.
//!
//! A. Z. Broder, "On the resemblance and containment of documents", 1997.

use crate::hash::mix;

/// Number of permutations, and so of places of a signature.
pub(crate) const PERMUTATIONS: usize = 128;

const SEED: u64 = 0x6d69_6e68_6173_6831;

/// The least hash of a set under each permutation.
pub(crate) type Signature = [u32; PERMUTATIONS];

/// Seeded permutations of 64-bit hashes: `a · h + b`, of which the upper half counts.
#[derive(Debug, Clone)]
pub(crate) struct MinHash {
    factors: [(u64, u64); PERMUTATIONS],
}

impl MinHash {
    /// The permutations; always the same.
    pub fn new() -> Self {
        let mut factors = [(0, 0); PERMUTATIONS];
        for (at, factor) in factors.iter_mut().enumerate() {
            let at = 2 * at as u64;
            *factor = (mix(SEED ^ at) | 1, mix(SEED ^ (at + 1)));
        }
        Self { factors }
    }

    /// The signature of a set of mixed hashes.
    pub fn sign(&self, set: &[u64]) -> Signature {
        let mut signature = [u32::MAX; PERMUTATIONS];
        for hash in set {
            for (least, (a, b)) in signature.iter_mut().zip(&self.factors) {
                let permuted = (a.wrapping_mul(*hash).wrapping_add(*b) >> 32) as u32;
                *least = permuted.min(*least);
            }
        }
        signature
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(a: &Signature, b: &Signature) -> f64 {
        a.iter().zip(b).filter(|(one, other)| one == other).count() as f64 / PERMUTATIONS as f64
    }

    /// BC-03: over many sets, the share of equal places is the Jaccard index, within its binomial error.
    #[test]
    fn signatures_estimate_the_jaccard_index() {
        let minhash = MinHash::new();
        for (shared, own) in [(90, 5), (80, 10), (50, 25), (20, 40), (0, 50)] {
            let index = f64::from(shared) / f64::from(shared + 2 * own);
            let rounds = 40_u64;
            let total: f64 = (0..rounds)
                .map(|round| {
                    let set = |side: u64| -> Vec<u64> {
                        let common = (0..shared as u64).map(|at| mix(round << 32 | at));
                        common.chain((0..own as u64).map(|at| mix(round << 32 | (side << 16) | at))).collect()
                    };
                    estimate(&minhash.sign(&set(1)), &minhash.sign(&set(2)))
                })
                .sum();
            let mean = total / rounds as f64;
            // Three standard errors of 40 · 128 draws.
            let error = 3.0 * (index * (1.0 - index) / (40.0 * 128.0)).sqrt() + 1e-9;
            assert!((mean - index).abs() <= error, "{mean} is not {index} ± {error}");
        }
    }
}
