//! The empirical-Bernstein confidence sequence.

use super::predictable::bets;
use crate::numeric::input::{InputError, in_domain, in_unit_interval, open_probability};

/// Bounds of the mean after one more value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EmpiricalBernsteinPoint {
    /// Lower bound from this step alone, at least 0.
    pub lower: f64,
    /// Upper bound from this step alone, at most 1.
    pub upper: f64,
    /// The best lower bound so far, which holds as well.
    pub lower_running: f64,
    /// The best upper bound so far.
    pub upper_running: f64,
}

/// Predictable plug-in empirical-Bernstein confidence sequence (Waudby-Smith & Ramdas 2023, thm 2) of
/// the mean of values in \[0, 1\]: all bounds hold together with probability 1 − α. O(1) per value.
///
/// lower_t = (Σλ_i x_i − ln(2/α) − Σ(x_i − x̄_{i−1})²ψ(λ_i))/Σλ_i, ψ(λ) = −ln(1−λ) − λ, x̄_0 = 0,
/// λ_t = min(`truncation`, √(2 ln(2/α)/(t ln(1+t) σ²_{t−1}))); the upper bound mirrors 1 − x. The usual
/// truncation is ½.
///
/// # Errors
/// Values outside \[0, 1\], α or the truncation outside (0, 1).
pub fn empirical_bernstein(
    values: &[f64],
    alpha: f64,
    truncation: f64,
) -> Result<Vec<EmpiricalBernsteinPoint>, InputError> {
    in_unit_interval("values", values)?;
    open_probability("alpha", alpha)?;
    let usable = truncation > 0.0 && truncation < 1.0;
    in_domain("truncation", truncation, "between 0 and 1 (both excluded)", usable)?;
    let log_term = (2.0 / alpha).ln();
    let bets = bets(values, log_term);
    let mut below = Side::default();
    let mut above = Side::default();
    let (mut lower_running, mut upper_running) = (0.0_f64, 1.0_f64);
    let points = values.iter().zip(bets).map(|(&value, bet)| {
        let bet = bet.min(truncation);
        let lower = below.add(value, bet, log_term).max(0.0);
        let upper = (1.0 - above.add(1.0 - value, bet, log_term)).min(1.0);
        lower_running = lower_running.max(lower);
        upper_running = upper_running.min(upper);
        EmpiricalBernsteinPoint { lower, upper, lower_running, upper_running }
    });
    Ok(points.collect())
}

/// The sums behind a lower bound.
#[derive(Default)]
struct Side {
    seen: f64,
    sum: f64,
    bets: f64,
    weighted: f64,
    penalty: f64,
}

impl Side {
    fn add(&mut self, value: f64, bet: f64, log_term: f64) -> f64 {
        let mean = if self.seen > 0.0 { self.sum / self.seen } else { 0.0 };
        self.penalty += (value - mean).powi(2) * (-(-bet).ln_1p() - bet);
        self.seen += 1.0;
        self.sum += value;
        self.bets += bet;
        self.weighted += bet * value;
        (self.weighted - log_term - self.penalty) / self.bets
    }
}
