//! Rows that differ most from each other: the greedy k-centre method on MinHash distance.
//!
//! T. F. Gonzalez, "Clustering to minimize the maximum intercluster distance", 1985: each next row is the one farthest from
//! all that were taken; the largest distance that remains is at most twice the best possible one.

use crate::duplicates::minhash::{MinHash, PERMUTATIONS, Signature};
use crate::duplicates::shingles::character_set;

/// Rows that are looked at, for each row that is taken.
const POOL: u64 = 10;

/// Texts of a random pool, of which some are taken. Memory holds 512 bytes a text.
pub struct DiverseSampler {
    minhash: MinHash,
    signatures: Vec<Signature>,
}

impl Default for DiverseSampler {
    fn default() -> Self {
        Self { minhash: MinHash::new(), signatures: Vec::new() }
    }
}

impl DiverseSampler {
    /// The number of random rows among which `n` are looked for.
    pub fn pool(n: u64) -> u64 {
        n.saturating_mul(POOL)
    }

    /// Adds the next text.
    pub fn add(&mut self, text: &str) {
        self.signatures.push(self.minhash.sign(&character_set(text)));
    }

    /// Takes `n` texts, beginning with that at `first`. Returns their positions in the order in which they were taken, and
    /// the mean distance of each to the nearest other one, from 0 to 1; `None` for less than two.
    pub fn take(&self, n: usize, first: usize) -> (Vec<usize>, Option<f64>) {
        let mut taken = Vec::new();
        let mut nearest = vec![PERMUTATIONS + 1; self.signatures.len()];
        let mut next = Some(first).filter(|first| *first < self.signatures.len());
        while let Some(at) = next.filter(|_| taken.len() < n) {
            taken.push(at);
            for (other, distance) in nearest.iter_mut().enumerate() {
                *distance = (*distance).min(self.distance(at, other));
            }
            // A taken row has the distance 0, as have its copies: they come last.
            nearest[at] = 0;
            let farthest = (0..nearest.len()).max_by_key(|other| (nearest[*other], std::cmp::Reverse(*other)));
            next = farthest.filter(|other| nearest[*other] > 0);
        }
        let mean = self.mean_nearest(&taken);
        (taken, mean)
    }

    /// The mean distance of these texts to the nearest other one of them.
    pub fn mean_nearest(&self, taken: &[usize]) -> Option<f64> {
        if taken.len() < 2 {
            return None;
        }
        let nearest = |one: &usize| {
            let others = taken.iter().filter(|other| *other != one);
            others.map(|other| self.distance(*one, *other)).min().unwrap_or_default()
        };
        let sum: usize = taken.iter().map(nearest).sum();
        Some(sum as f64 / PERMUTATIONS as f64 / taken.len() as f64)
    }

    /// The number of places in which two signatures differ.
    fn distance(&self, one: usize, other: usize) -> usize {
        let (one, other) = (&self.signatures[one], &self.signatures[other]);
        one.iter().zip(other).filter(|(one, other)| one != other).count()
    }
}
