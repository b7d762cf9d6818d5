//! The chi-squared distribution and the regularised incomplete gamma function.

use statrs::function::gamma::{gamma_lr, gamma_ur};

use super::{Tails, root::find_root};

/// χ² with `df` degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChiSquared {
    df: f64,
}

impl ChiSquared {
    /// `None` unless `df` is positive and finite.
    pub fn new(df: f64) -> Option<Self> {
        (df > 0.0 && df.is_finite()).then_some(Self { df })
    }

    /// P(X ≤ x).
    pub fn cdf(&self, x: f64) -> f64 {
        regularized_gamma(0.5 * self.df, 0.5 * x).lower
    }

    /// P(X > x).
    pub fn sf(&self, x: f64) -> f64 {
        regularized_gamma(0.5 * self.df, 0.5 * x).upper
    }

    /// The x with P(X ≤ x) = p.
    pub fn quantile(&self, p: f64) -> f64 {
        if p <= 0.0 {
            return 0.0;
        }
        if p >= 1.0 {
            return f64::INFINITY;
        }
        let mut hi = self.df;
        while self.cdf(hi) < p {
            hi *= 2.0;
        }
        let gap = |x: f64| {
            if p < 0.5 { self.cdf(x) - p } else { (1.0 - p) - self.sf(x) }
        };
        find_root(gap, 0.0, hi).unwrap_or(hi)
    }
}

/// P(a, x) and Q(a, x).
fn regularized_gamma(a: f64, x: f64) -> Tails {
    if x <= 0.0 {
        return Tails { lower: 0.0, upper: 1.0 };
    }
    if x.is_infinite() {
        return Tails { lower: 1.0, upper: 0.0 };
    }
    Tails { lower: gamma_lr(a, x), upper: gamma_ur(a, x) }
}
