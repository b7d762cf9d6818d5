//! Betting e-detectors: change detection with a guaranteed time to a false alarm.

use crate::numeric::input::{InputError, in_domain, in_unit_interval, open_probability};

/// The detector's run over a series; indices count from 0.
#[derive(Debug, Clone, PartialEq)]
pub struct EDetector {
    /// Shiryaev-Roberts statistic after each value.
    pub shiryaev_roberts: Vec<f64>,
    /// CUSUM statistic after each value.
    pub cusum: Vec<f64>,
    /// First value at which Shiryaev-Roberts reached 1/α.
    pub shiryaev_roberts_alarm: Option<usize>,
    /// First value at which CUSUM reached 1/α.
    pub cusum_alarm: Option<usize>,
}

/// Detects a drop of the mean of scores in \[0, 1\] below `mean_lower_bound` (m0).
///
/// e_t(λ) = 1 + λ(m0 − x_t), 0 < λ ≤ 1/(1 − m0); Shiryaev-Roberts M = (M + 1)e, CUSUM M = max(M, 1)e,
/// both from 0 and averaged over the bets λ; alarm at M ≥ 1/α. While E\[x_t | past\] ≥ m0 the mean time
/// to an alarm is at least 1/α, without independence or a distribution (Shin, Ramdas & Rinaldo 2022).
/// Defaults: m0 = baseline − margin, λ ∈ {0.1, 0.3, 0.6}/(1 − m0), α = 1/1000.
///
/// Statistics that would overflow stay at the largest number.
///
/// # Errors
/// Values or m0 outside \[0, 1\], no bet or one outside its range, α outside (0, 1).
pub fn e_detector(values: &[f64], mean_lower_bound: f64, bets: &[f64], alpha: f64) -> Result<EDetector, InputError> {
    in_unit_interval("values", values)?;
    in_unit_interval("lower bound of the mean", &[mean_lower_bound])?;
    open_probability("alpha", alpha)?;
    in_domain("number of bets", bets.len() as f64, "1 or more", !bets.is_empty())?;
    for &bet in bets {
        // A relative slack for bets written as a rounded 1/(1 − m0).
        let allowed = bet > 0.0 && bet * (1.0 - mean_lower_bound) <= 1.0 + 1e-6 && bet.is_finite();
        in_domain("a bet", bet, "more than 0 and at most 1/(1 - m0)", allowed)?;
    }
    let run = |step: fn(f64, f64) -> f64| -> Vec<f64> {
        let mut wealth = vec![0.0; bets.len()];
        values
            .iter()
            .map(|value| {
                for (wealth, bet) in wealth.iter_mut().zip(bets) {
                    let e = (1.0 + bet * (mean_lower_bound - value)).max(0.0);
                    *wealth = step(*wealth, e).min(f64::MAX / bets.len() as f64);
                }
                wealth.iter().sum::<f64>() / bets.len() as f64
            })
            .collect()
    };
    let shiryaev_roberts = run(|wealth, e| (wealth + 1.0) * e);
    let cusum = run(|wealth, e| wealth.max(1.0) * e);
    let alarm = |statistic: &[f64]| statistic.iter().position(|&m| m >= 1.0 / alpha);
    Ok(EDetector {
        shiryaev_roberts_alarm: alarm(&shiryaev_roberts),
        cusum_alarm: alarm(&cusum),
        shiryaev_roberts,
        cusum,
    })
}
