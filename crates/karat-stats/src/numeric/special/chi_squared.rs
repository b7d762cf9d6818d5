//! The chi-squared distribution and the regularised incomplete gamma function.

use super::{Tails, deviance::poisson_density, root::find_root};

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

/// P(a, x) and Q(a, x): series below a + 1, continued fraction above (Abramowitz & Stegun 6.5).
fn regularized_gamma(a: f64, x: f64) -> Tails {
    if x <= 0.0 {
        return Tails { lower: 0.0, upper: 1.0 };
    }
    if x.is_infinite() {
        return Tails { lower: 1.0, upper: 0.0 };
    }
    let density = poisson_density(a, x);
    if x < a + 1.0 {
        let lower = (density * series(a, x)).clamp(0.0, 1.0);
        return Tails { lower, upper: 1.0 - lower };
    }
    let upper = (density * a * continued_fraction(a, x)).clamp(0.0, 1.0);
    Tails { lower: 1.0 - upper, upper }
}

/// Σ xʲ / ((a+1)…(a+j)).
fn series(a: f64, x: f64) -> f64 {
    let (mut sum, mut term, mut j) = (1.0, 1.0, 0.0);
    while term > f64::EPSILON * sum && j < 1e6 {
        j += 1.0;
        term *= x / (a + j);
        sum += term;
    }
    sum
}

/// Γ(a, x) / (xᵃ e⁻ˣ) by modified Lentz.
fn continued_fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let guard = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / guard(b);
    let mut h = d;
    let mut i = 0.0;
    while i < 1e6 {
        i += 1.0;
        let an = -i * (i - a);
        b += 2.0;
        d = 1.0 / guard(an * d + b);
        c = guard(b + an / c);
        let change = d * c;
        h *= change;
        if (change - 1.0).abs() < 2.0 * f64::EPSILON {
            break;
        }
    }
    h
}
