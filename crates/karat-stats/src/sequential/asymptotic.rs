//! The asymptotic confidence sequence, for metrics without known bounds.

use crate::numeric::input::{InputError, finite, in_domain, open_probability};

/// A time-uniform central limit theorem: x̄_t ± s_t·√(2(tρ²+1)/(t²ρ²)·ln(√(tρ²+1)/α)), narrowest at `t_opt`.
///
/// For cost and latency. The guarantee is asymptotic: do not stop before about 50 items. Two-sided
/// at level α (Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas 2021, thm 2.2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AsymptoticSequence {
    alpha: f64,
    t_opt: f64,
}

/// Mean and half-width after one more value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AsymptoticPoint {
    /// Mean so far.
    pub mean: f64,
    /// Half-width; 0 after the first value, which says nothing about the spread.
    pub half_width: f64,
}

impl AsymptoticSequence {
    /// A sequence that is narrowest after `t_opt` values.
    ///
    /// # Errors
    /// α outside (0, 1), `t_opt` that is not positive.
    pub fn new(alpha: f64, t_opt: f64) -> Result<Self, InputError> {
        open_probability("alpha", alpha)?;
        in_domain("t_opt", t_opt, "more than 0", t_opt > 0.0 && t_opt.is_finite())?;
        Ok(Self { alpha, t_opt })
    }

    /// ρ² in closed form: (−2 ln α + ln(1 − 2 ln α))/t_opt. This is what the widths use.
    pub fn rho_squared(&self) -> f64 {
        let l = -2.0 * self.alpha.ln();
        (l + (1.0 + l).ln()) / self.t_opt
    }

    /// The exact optimum, (−W₋₁(−α²/e) − 1)/t_opt.
    pub fn rho_squared_exact(&self) -> f64 {
        // u = −W₋₁ solves u − ln u = 1 − 2 ln α with u > 1, where Newton converges from the right.
        let target = 1.0 - 2.0 * self.alpha.ln();
        let mut u = target + 2.0 * target.ln() + 1.0;
        for _ in 0..64 {
            u -= (u - u.ln() - target) / (1.0 - 1.0 / u);
        }
        (u - 1.0) / self.t_opt
    }

    /// The sequence over `values`; s_t is the running population standard deviation.
    ///
    /// # Errors
    /// Values that are not finite.
    pub fn points(&self, values: &[f64]) -> Result<Vec<AsymptoticPoint>, InputError> {
        finite("values", values)?;
        let rho_squared = self.rho_squared();
        let (mut t, mut mean, mut squares) = (0.0, 0.0, 0.0);
        let points = values.iter().map(|value| {
            t += 1.0;
            let deviation = value - mean;
            mean += deviation / t;
            squares += deviation * (value - mean);
            let sd = (squares / t).max(0.0).sqrt();
            AsymptoticPoint { mean, half_width: sd * width(t, rho_squared, self.alpha) }
        });
        Ok(points.collect())
    }
}

/// √(2(tρ²+1)/(t²ρ²)·ln(√(tρ²+1)/α)): the half-width after `t` values of standard deviation 1.
fn width(t: f64, rho_squared: f64, alpha: f64) -> f64 {
    let growth: f64 = t * rho_squared + 1.0;
    (2.0 * growth / (t * t * rho_squared) * (growth.sqrt() / alpha).ln()).sqrt()
}

impl AsymptoticSequence {
    /// The half-width after `t` values, in standard deviations of the values.
    pub fn width(&self, t: f64) -> f64 {
        width(t, self.rho_squared(), self.alpha)
    }
}
