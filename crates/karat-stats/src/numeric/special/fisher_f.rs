//! Fisher's F distribution.

use super::{Beta, beta::regularized_beta};

/// F with `d1` (numerator) and `d2` (denominator) degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FisherF {
    d1: f64,
    d2: f64,
}

impl FisherF {
    /// `None` unless both degrees of freedom are positive and finite.
    pub fn new(d1: f64, d2: f64) -> Option<Self> {
        (d1 > 0.0 && d2 > 0.0 && d1.is_finite() && d2.is_finite()).then_some(Self { d1, d2 })
    }

    /// P(F ≤ f).
    pub fn cdf(&self, f: f64) -> f64 {
        let (x, y) = self.ratio(f);
        regularized_beta(0.5 * self.d1, 0.5 * self.d2, x, y).lower
    }

    /// P(F > f).
    pub fn sf(&self, f: f64) -> f64 {
        let (x, y) = self.ratio(f);
        regularized_beta(0.5 * self.d1, 0.5 * self.d2, x, y).upper
    }

    /// The f with P(F ≤ f) = p.
    pub fn quantile(&self, p: f64) -> f64 {
        let (a, b) = (0.5 * self.d1, 0.5 * self.d2);
        let share = |a, b, p| Beta::new(a, b).map_or(0.0, |beta| beta.quantile(p));
        // The beta quantile keeps its digits below ½; above, solve for the complement.
        let x = share(a, b, p);
        let odds = if x <= 0.5 {
            x / (1.0 - x)
        } else {
            let y = share(b, a, 1.0 - p);
            (1.0 - y) / y
        };
        odds * self.d2 / self.d1
    }

    /// d1·f / (d1·f + d2) and its complement.
    fn ratio(&self, f: f64) -> (f64, f64) {
        if f <= 0.0 {
            return (0.0, 1.0);
        }
        if f.is_infinite() {
            return (1.0, 0.0);
        }
        let odds = self.d1 * f / self.d2;
        (odds / (1.0 + odds), 1.0 / (1.0 + odds))
    }
}
