//! Sign flips of units: samples, or the sums of clusters of any size. p and interval are one test.
//!
//! With unit sums S_g of m_g values, a shift δ of the mean is compared with Σ±(S_g − δm_g) over all patterns of signs. A
//! pattern reaches the observed sum where the mean r = ΣS_g/Σm_g of its flipped units is at most δ, so the ends of the
//! interval are order statistics of r.

use rand_chacha::rand_core::Rng;

use crate::compare::{SignFlip, sign_flip_exact};
use crate::numeric::seed::Seed;
use crate::numeric::special::boundary;

/// From so many clusters on, patterns are sampled.
pub(super) const SAMPLED_FROM: usize = 30;

/// Patterns sampled, and below which level how many instead.
const PATTERNS: usize = 9_999;
const FINE_LEVEL: f64 = 0.002;
const FINE_PATTERNS: usize = 99_999;

/// The units whose signs are flipped.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Units {
    /// Sums S_g.
    pub sums: Vec<f64>,
    /// Sizes m_g.
    pub sizes: Vec<f64>,
}

impl Units {
    /// The two-sided exact p of a mean of `shift`; `None` above 40 units.
    pub(super) fn exact_p(&self, shift: f64) -> Option<f64> {
        let test = self.test_at(shift)?;
        Some((2.0 * test.p_greater.min(test.p_less)).min(1.0))
    }

    fn test_at(&self, shift: f64) -> Option<SignFlip> {
        let sums: Vec<f64> = self.sums.iter().zip(&self.sizes).map(|(sum, size)| sum - shift * size).collect();
        sign_flip_exact(&sums)
    }

    /// All δ of which neither side's share of patterns is at most α/2. `None` where so few units can never be.
    pub(super) fn exact_interval(&self, alpha: f64) -> Option<(f64, f64)> {
        let tail = 0.5 * alpha;
        if self.sums.is_empty() || self.sums.len() >= SAMPLED_FROM || 0.5_f64.powi(self.sums.len() as i32) > tail {
            return None;
        }
        let means = self.sums.iter().zip(&self.sizes).map(|(sum, size)| sum / size);
        let (least, most) = means.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), r| (lo.min(r), hi.max(r)));
        let centre = self.sums.iter().sum::<f64>() / self.sizes.iter().sum::<f64>();
        let centre = centre.clamp(least, most);
        let lo = boundary(least, centre, |shift| self.test_at(shift).is_some_and(|test| test.p_greater <= tail));
        let hi = boundary(most, centre, |shift| self.test_at(shift).is_some_and(|test| test.p_less <= tail));
        Some((lo, hi))
    }

    /// Means r of random halves of the units, ascending: enough of them for decisions at `alpha`.
    pub(super) fn sample(&self, alpha: f64, seed: Seed) -> Sampled {
        let patterns = if alpha < FINE_LEVEL { FINE_PATTERNS } else { PATTERNS };
        let mut rng = seed.stream(0);
        let mut means = Vec::with_capacity(patterns);
        while means.len() < patterns {
            let (mut sum, mut size) = (0.0, 0.0);
            for (sums, sizes) in self.sums.chunks(64).zip(self.sizes.chunks(64)) {
                let mut flipped = rng.next_u64();
                for (s, m) in sums.iter().zip(sizes) {
                    let taken = (flipped & 1) as f64;
                    sum += taken * s;
                    size += taken * m;
                    flipped >>= 1;
                }
            }
            // No unit at all is not a half of them: drawn again.
            if size > 0.0 {
                means.push(sum / size);
            }
            if self.sizes.iter().all(|size| *size <= 0.0) {
                break;
            }
        }
        means.sort_unstable_by(f64::total_cmp);
        let scale = self.sums.iter().fold(0.0_f64, |most, sum| most.max(sum.abs()));
        Sampled { means, slack: 1e-14 * scale }
    }
}

/// Sampled patterns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sampled {
    means: Vec<f64>,
    slack: f64,
}

impl Sampled {
    /// The p of a mean of δ = `shift`: 2·min(1 + #{r ≤ δ}, 1 + #{r ≥ δ})/B, at most 1, with B one more than the patterns.
    pub(super) fn p(&self, shift: f64) -> f64 {
        let at_most = self.means.partition_point(|r| *r <= shift + self.slack);
        let at_least = self.means.len() - self.means.partition_point(|r| *r < shift - self.slack);
        let fewer = 1.0 + at_most.min(at_least) as f64;
        (2.0 * fewer / self.total()).min(1.0)
    }

    /// The ⌊B·α/2⌋th r from below and from above.
    pub(super) fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        let rank = (self.total() * 0.5 * alpha * (1.0 + 1e-12)).floor() as usize;
        let lo = self.means.get(rank.checked_sub(1)?)?;
        let hi = self.means.get(self.means.len().checked_sub(rank)?)?;
        Some((*lo, *hi))
    }

    fn total(&self) -> f64 {
        self.means.len() as f64 + 1.0
    }
}
