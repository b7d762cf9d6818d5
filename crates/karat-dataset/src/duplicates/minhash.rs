//! MinHash: a signature of a set whose places agree, between two sets, in the share of their Jaccard index.
//!
//! A. Z. Broder, "On the resemblance and containment of documents", 1997.

use crate::hash::mix;

/// Number of permutations, and so of places of a signature.
pub(crate) const PERMUTATIONS: usize = 128;

const SEED: u64 = 0x6d69_6e68_6173_6831;

/// The least hash of a set under each permutation.
pub(crate) type Signature = [u32; PERMUTATIONS];

/// Seeded permutations of 32-bit hashes: `a · h + b`. Factors and summands stand apart, so that four places are computed at
/// once.
#[derive(Debug, Clone)]
pub(crate) struct MinHash {
    factors: [u32; PERMUTATIONS],
    summands: [u32; PERMUTATIONS],
}

impl MinHash {
    /// The permutations; always the same.
    pub fn new() -> Self {
        let number = |at: usize| (mix(SEED ^ at as u64) >> 32) as u32;
        Self {
            factors: std::array::from_fn(|at| number(2 * at) | 1),
            summands: std::array::from_fn(|at| number(2 * at + 1)),
        }
    }

    /// The signature of a set of mixed hashes, of which the upper halves count.
    pub fn sign(&self, set: &[u64]) -> Signature {
        let mut signature = [u32::MAX; PERMUTATIONS];
        for hash in set {
            let hash = (hash >> 32) as u32;
            for ((least, a), b) in signature.iter_mut().zip(&self.factors).zip(&self.summands) {
                *least = a.wrapping_mul(hash).wrapping_add(*b).min(*least);
            }
        }
        signature
    }
}

/// Two bits of each place of a signature: enough to rule most other texts out without their shingles.
///
/// P. Li and A. C. König, "b-bit minwise hashing", 2010.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sketch {
    /// The lowest bit of each place.
    low: [u64; 2],
    /// The bit above it.
    high: [u64; 2],
}

impl Sketch {
    pub fn of_signature(signature: &Signature) -> Self {
        let mut sketch = Self { low: [0; 2], high: [0; 2] };
        for (half, places) in signature.chunks_exact(64).enumerate() {
            for (at, place) in (0..).zip(places) {
                // The lower bits of a permuted hash are those of few bits of the hash.
                let place = place.wrapping_mul(0x9e37_79b1) >> 30;
                sketch.low[half] |= u64::from(place & 1) << at;
                sketch.high[half] |= u64::from(place >> 1) << at;
            }
        }
        sketch
    }

    /// The number of places that agree, 0 to 128; `None` if they are less than `least`.
    pub fn agreement(&self, other: &Self, least: u32) -> Option<u32> {
        let mut differing = [self.low[0] ^ other.low[0], self.low[1] ^ other.low[1]];
        let places = |differing: [u64; 2]| differing[0].count_zeros() + differing[1].count_zeros();
        // One bit rules most texts out.
        if places(differing) < least {
            return None;
        }
        (0..2).for_each(|half| differing[half] |= self.high[half] ^ other.high[half]);
        Some(places(differing)).filter(|agreement| *agreement >= least)
    }

    /// The least agreement of two sets whose Jaccard index is `cut`: five standard deviations below the expected one, as
    /// places agree that are the same, and a quarter of the others.
    pub fn least_agreement(cut: f64) -> u32 {
        let share = cut + (1.0 - cut) / 4.0;
        let places = PERMUTATIONS as f64;
        (share * places - 5.0 * (share * (1.0 - share) * places).sqrt()).max(0.0).floor() as u32
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

    /// BC-03: sketches of sets at the cut agree enough, and those of sets far below do not.
    #[test]
    fn sketches_tell_what_cannot_be_alike() {
        let minhash = MinHash::new();
        assert_eq!(
            (Sketch::least_agreement(0.8), Sketch::least_agreement(0.5), Sketch::least_agreement(1.0)),
            (88, 52, 128)
        );
        let least = Sketch::least_agreement(0.8);
        let is_candidate = |shared: u64, own: u64, round: u64| {
            let sketch = |side: u64| {
                let common = (0..shared).map(|at| mix(round << 32 | at));
                let set: Vec<u64> = common.chain((0..own).map(|at| mix(round << 32 | side << 16 | at))).collect();
                Sketch::of_signature(&minhash.sign(&set))
            };
            sketch(1).agreement(&sketch(2), least).is_some()
        };
        assert!((0..500).all(|round| is_candidate(80, 10, round)), "a pair of index 0.8 was ruled out");
        assert!(!(0..500).any(|round| is_candidate(30, 35, round)), "a pair of index 0.3 was not ruled out");
        let sketch = Sketch::of_signature(&minhash.sign(&[mix(1)]));
        assert_eq!(sketch.agreement(&sketch, 128), Some(128));
    }
}
