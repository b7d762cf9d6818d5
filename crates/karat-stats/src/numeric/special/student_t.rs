//! Student's t distribution.

use super::{Tails, beta::regularized_beta, normal_sf, root::find_root};

/// Student's t with `df` degrees of freedom, which may be fractional.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudentT {
    df: f64,
}

/// Above this many degrees of freedom the incomplete beta function loses digits, and the normal deviate of
/// [`StudentT::normal_deviate`] has them all.
const NORMAL_FROM: f64 = 1e7;

impl StudentT {
    /// `None` unless `df` is positive (infinity is the normal distribution).
    pub fn new(df: f64) -> Option<Self> {
        (df > 0.0).then_some(Self { df })
    }

    /// P(T ≤ t).
    pub fn cdf(&self, t: f64) -> f64 {
        self.sf(-t)
    }

    /// P(T > t).
    pub fn sf(&self, t: f64) -> f64 {
        let tails = self.tails_of_square(t);
        if t > 0.0 { 0.5 * tails.upper } else { 0.5 + 0.5 * tails.lower }
    }

    /// P(|T| ≥ |t|).
    pub fn two_sided(&self, t: f64) -> f64 {
        self.tails_of_square(t).upper
    }

    /// The t with P(T ≤ t) = p.
    pub fn quantile(&self, p: f64) -> f64 {
        if p < 0.5 { -self.upper_quantile(p) } else { self.upper_quantile(1.0 - p) }
    }

    /// The t with P(T > t) = q.
    pub fn upper_quantile(&self, q: f64) -> f64 {
        if q <= 0.0 {
            return f64::INFINITY;
        }
        if q >= 1.0 {
            return f64::NEG_INFINITY;
        }
        if q > 0.5 {
            return -self.upper_quantile(1.0 - q);
        }
        let mut hi = 1.0;
        while self.sf(hi) > q && hi < f64::MAX / 2.0 {
            hi *= 2.0;
        }
        let lo = if hi > 1.0 { 0.5 * hi } else { 0.0 };
        find_root(|t| (self.sf(t) / q).ln(), lo, hi).unwrap_or(hi)
    }

    /// The normal deviate with about the same tail (Abramowitz & Stegun 26.7.8); its error is of order t⁵/df².
    fn normal_deviate(&self, t: f64) -> f64 {
        t * (1.0 - 0.25 / self.df) / (1.0 + 0.5 * t * (t / self.df)).sqrt()
    }

    /// The lower and upper tail of T² at t².
    fn tails_of_square(&self, t: f64) -> Tails {
        if t.is_infinite() {
            return Tails { lower: 1.0, upper: 0.0 };
        }
        if self.df > NORMAL_FROM {
            let upper = 2.0 * normal_sf(self.normal_deviate(t.abs()));
            return Tails { lower: 1.0 - upper, upper };
        }
        // Scale before squaring so that neither t² nor df overflows.
        let r = t.abs() / self.df.sqrt();
        let (x, y) = if r > 1.0 {
            let s = 1.0 / r;
            (s * s / (1.0 + s * s), 1.0 / (1.0 + s * s))
        } else {
            (1.0 / (1.0 + r * r), r * r / (1.0 + r * r))
        };
        regularized_beta(0.5 * self.df, 0.5, x, y).swap_tails()
    }
}
