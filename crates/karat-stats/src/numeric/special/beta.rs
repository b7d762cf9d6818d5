//! The beta distribution and the regularised incomplete beta function.

use super::{Tails, deviance::binomial_density, root::find_root};

/// Beta(a, b) on \[0, 1\].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beta {
    a: f64,
    b: f64,
}

impl Beta {
    /// `None` unless both shapes are positive and finite.
    pub fn new(a: f64, b: f64) -> Option<Self> {
        (a > 0.0 && b > 0.0 && a.is_finite() && b.is_finite()).then_some(Self { a, b })
    }

    /// P(X ≤ x) = I_x(a, b).
    pub fn cdf(&self, x: f64) -> f64 {
        regularized_beta(self.a, self.b, x, 1.0 - x).lower
    }

    /// P(X > x).
    pub fn sf(&self, x: f64) -> f64 {
        regularized_beta(self.a, self.b, x, 1.0 - x).upper
    }

    /// The x with P(X ≤ x) = p.
    pub fn quantile(&self, p: f64) -> f64 {
        if p <= 0.0 {
            return 0.0;
        }
        if p >= 1.0 {
            return 1.0;
        }
        // Solve on the side where the root is far from 1, so that it keeps its relative precision.
        if self.cdf(0.5) >= p {
            find_root(|x| self.cdf(x) - p, 0.0, 0.5).unwrap_or(0.5)
        } else {
            let mirror = Self { a: self.b, b: self.a };
            1.0 - find_root(|y| mirror.sf(y) - p, 0.0, 0.5).unwrap_or(0.5)
        }
    }
}

/// I_x(a, b) and its complement, with y = 1 − x given separately.
///
/// Continued fraction (modified Lentz; Abramowitz & Stegun 26.5.8) with the density as prefactor.
pub(super) fn regularized_beta(a: f64, b: f64, x: f64, y: f64) -> Tails {
    if x <= 0.0 {
        return Tails { lower: 0.0, upper: 1.0 };
    }
    if y <= 0.0 {
        return Tails { lower: 1.0, upper: 0.0 };
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return regularized_lower(b, a, y, x).swap_tails();
    }
    regularized_lower(a, b, x, y)
}

fn regularized_lower(a: f64, b: f64, x: f64, y: f64) -> Tails {
    // xᵃ yᵇ / (a B(a,b)) written as a binomial density.
    let front = binomial_density(a, a + b, x, y) * b / (a + b);
    let lower = (front * continued_fraction(a, b, x)).clamp(0.0, 1.0);
    Tails { lower, upper: 1.0 - lower }
}

fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let guard = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    let mut m = 0.0;
    while m < 100_000.0 {
        m += 1.0;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / guard(1.0 + even * d);
        c = guard(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / guard(1.0 + odd * d);
        c = guard(1.0 + odd / c);
        let change = d * c;
        h *= change;
        if (change - 1.0).abs() < 2.0 * f64::EPSILON {
            break;
        }
    }
    h
}
