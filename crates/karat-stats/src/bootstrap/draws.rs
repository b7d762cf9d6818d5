//! Unbiased random indices, several from one random word.
//!
//! Multiplying a random 64-bit word by n splits it into an index (high half) and a remainder (low
//! half) that is random again, so one word yields a batch of indices as long as nᵏ stays well below
//! 2⁶⁴. Words that would favour some indices are rejected (Brackett-Rozinsky & Lemire 2024,
//! arXiv 2408.06213).

use rand_chacha::{ChaCha8Rng, rand_core::Rng};

/// Random words are generated in blocks: one call of the generator fills this many.
const WORDS: usize = 256;

/// 2⁻⁵³, the spacing of the uniform doubles.
const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;

/// Number of indices below `n` that one word yields while fewer than one word in 16 is rejected.
pub(super) fn width(n: usize) -> usize {
    match n {
        0..=1024 => 6,
        1025..=32_768 => 4,
        32_769..=1_048_576 => 3,
        1_048_577..=1_073_741_824 => 2,
        _ => 1,
    }
}

/// A generator with a buffer of random words.
pub(super) struct Draws {
    rng: ChaCha8Rng,
    words: [u64; WORDS],
    used: usize,
}

impl Draws {
    pub(super) fn new(rng: ChaCha8Rng) -> Self {
        Self { rng, words: [0; WORDS], used: WORDS }
    }

    /// 64 random bits.
    pub(super) fn word(&mut self) -> u64 {
        if self.used == WORDS {
            self.refill();
        }
        let word = self.words[self.used];
        self.used += 1;
        word
    }

    /// A uniform double in [0, 1) with 53 random bits.
    pub(super) fn uniform(&mut self) -> f64 {
        // The 53 bits fit a signed integer, which converts in one instruction.
        (self.word() >> 11) as i64 as f64 * UNIT
    }

    /// Calls `visit` with `count` independent uniform indices below `n` > 0.
    pub(super) fn visit(&mut self, n: usize, count: usize, mut visit: impl FnMut(usize)) {
        match width(n) {
            6 => self.visit_by::<6>(n, count, visit),
            4 => self.visit_by::<4>(n, count, visit),
            3 => self.visit_by::<3>(n, count, visit),
            2 => self.visit_by::<2>(n, count, visit),
            _ => self.batches::<1>(n, count, |[index]| visit(index)),
        }
    }

    /// Calls `visit` with `count` batches of `K` independent uniform indices below `n` > 0, where nᴷ
    /// must be below 2⁶⁴ (see [`width`]).
    // Inlined so that what `visit` accumulates stays in registers: half the time of a bootstrap.
    #[inline(always)]
    pub(super) fn batches<const K: usize>(&mut self, n: usize, count: usize, mut visit: impl FnMut([usize; K])) {
        let n = n as u64;
        let range = n.pow(K as u32);
        // 2⁶⁴ mod nᴷ: so many words would make some batches likelier than others.
        let biased = range.wrapping_neg() % range;
        let mut left = count;
        while left > 0 {
            if self.used == WORDS {
                self.refill();
            }
            let end = WORDS.min(self.used + left);
            for word in &self.words[self.used..end] {
                let mut rest = *word;
                let indices = [(); K].map(|()| {
                    let product = u128::from(rest) * u128::from(n);
                    rest = product as u64;
                    (product >> 64) as usize
                });
                if rest >= biased {
                    visit(indices);
                    left -= 1;
                }
            }
            self.used = end;
        }
    }

    fn visit_by<const K: usize>(&mut self, n: usize, count: usize, mut visit: impl FnMut(usize)) {
        self.batches::<K>(n, count / K, |indices| indices.into_iter().for_each(&mut visit));
        self.batches::<1>(n, count % K, |[index]| visit(index));
    }

    fn refill(&mut self) {
        let mut bytes = [0; 8 * WORDS];
        self.rng.fill_bytes(&mut bytes);
        for (word, bytes) in self.words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::seed::Seed;
    use crate::numeric::special::ChiSquared;

    /// The p-value of a chi-squared test of equal counts.
    fn evenness(counts: &[u64]) -> f64 {
        let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        let chi2: f64 = counts.iter().map(|c| (*c as f64 - expected).powi(2) / expected).sum();
        ChiSquared::new(counts.len() as f64 - 1.0).unwrap().sf(chi2)
    }

    #[test]
    fn indices_are_uniform_for_every_width_of_batch() {
        for n in [1_usize, 2, 3, 7, 1000, 1024, 1025, 10_000, 32_768, 40_000] {
            let mut counts = vec![0; n];
            let mut draws = Draws::new(Seed(11).stream(n as u64));
            draws.visit(n, 400_003, |i| counts[i] += 1);
            assert_eq!(counts.iter().sum::<u64>(), 400_003);
            if n > 1 {
                let p = evenness(&counts);
                assert!((1e-4..=1.0 - 1e-4).contains(&p), "n = {n}: p = {p}");
            }
        }
    }

    #[test]
    fn indices_of_one_batch_are_independent() {
        let mut counts = vec![0; 49];
        let mut draws = Draws::new(Seed(3).stream(0));
        draws.batches::<4>(7, 100_000, |[a, _, _, b]| counts[7 * a + b] += 1);
        assert!(evenness(&counts) > 1e-4);
    }

    #[test]
    fn a_range_that_fills_the_word_is_still_uniform() {
        // 3⁴⁰ leaves a third of all words to rejection.
        let mut counts = vec![0; 3];
        let mut draws = Draws::new(Seed(5).stream(0));
        draws.batches::<40>(3, 20_000, |batch| batch.into_iter().for_each(|i| counts[i] += 1));
        assert_eq!(counts.iter().sum::<u64>(), 800_000);
        assert!(evenness(&counts) > 1e-4);
    }

    #[test]
    fn uniforms_lie_in_the_half_open_unit_interval() {
        let mut draws = Draws::new(Seed(1).stream(0));
        assert!((0..10_000).all(|_| (0.0..1.0).contains(&draws.uniform())));
    }
}
