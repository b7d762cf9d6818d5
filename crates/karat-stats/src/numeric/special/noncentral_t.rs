//! The noncentral t distribution, the power function of t tests.

use super::{normal_cdf, normal_sf};

/// (Z + δ) / √(χ²_df / df): t with `df` degrees of freedom and noncentrality `δ`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoncentralT {
    df: f64,
    noncentrality: f64,
}

impl NoncentralT {
    /// `None` unless `df` is positive and both parameters are finite.
    pub fn new(df: f64, noncentrality: f64) -> Option<Self> {
        (df > 0.0 && df.is_finite() && noncentrality.is_finite()).then_some(Self { df, noncentrality })
    }

    /// P(T ≤ t), to about 1e-15 absolute.
    pub fn cdf(&self, t: f64) -> f64 {
        self.mix(t, normal_cdf)
    }

    /// P(T > t), to about 1e-15 absolute.
    pub fn sf(&self, t: f64) -> f64 {
        self.mix(t, normal_sf)
    }

    /// E\[tail(t·u − δ)\] over u = √(χ²/df).
    ///
    /// With w = ln u the weight is exp(−df/2·(e²ʷ − 1 − 2w)) up to a constant, analytic and
    /// vanishing at both ends, where the trapezoidal rule converges exponentially (Trefethen &
    /// Weideman 2014). Dividing by the sum of the weights removes the constant.
    fn mix(&self, t: f64, tail: fn(f64) -> f64) -> f64 {
        if t.is_infinite() {
            return tail(t);
        }
        // The integrand varies on the scale of the weight, 1/√(2df), and of the tail, 1/|t·u|.
        let reach = t.abs().min(self.noncentrality.abs() + 10.0);
        // The weight is analytic for |Im w| < π/4 only, which bounds the step whatever the scale.
        let step = 0.3 / (2.0 * self.df + reach * reach).sqrt().max(2.5);
        let weight = |w: f64| (-0.5 * self.df * ((2.0 * w).exp_m1() - 2.0 * w)).exp();
        let (mut weights, mut total) = (1.0, tail(t - self.noncentrality));
        for direction in [-1.0, 1.0] {
            let mut w = direction * step;
            loop {
                let weight = weight(w);
                if weight < 1e-18 {
                    break;
                }
                weights += weight;
                total += weight * tail(t * w.exp() - self.noncentrality);
                w += direction * step;
            }
        }
        (total / weights).clamp(0.0, 1.0)
    }
}
