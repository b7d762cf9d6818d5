//! An anytime-valid paired test.

use super::predictable::bets;
use crate::numeric::input::{InputError, finite_pairs, in_unit_interval, open_probability};

/// E-processes of a paired comparison; one value per pair, stops count pairs from 1.
#[derive(Debug, Clone, PartialEq)]
pub struct SequentialPaired {
    /// Evidence that the candidate is better.
    pub e_improvement: Vec<f64>,
    /// Evidence that it is worse.
    pub e_regression: Vec<f64>,
    /// Evidence that it differs: the average of the two.
    pub e_two_sided: Vec<f64>,
    /// Pairs after which `e_improvement` first reached 1/α.
    pub stop_improvement: Option<usize>,
    /// Pairs after which `e_regression` first reached 1/α.
    pub stop_regression: Option<usize>,
    /// Pairs after which `e_two_sided` first reached 1/α.
    pub stop_two_sided: Option<usize>,
    /// min(1, 1/max e_two_sided): a p-value that holds at any stopping time. `None` without pairs.
    pub anytime_p: Option<f64>,
}

/// Tests "no difference in mean" of scores in \[0, 1\] by betting on d = candidate − baseline.
///
/// With x = (d + 1)/2 and the null mean ½: E = Π(1 ± λ(x − ½)), λ_t = min(1, √(2 ln(1/α)/(t ln(1+t) σ²_{t−1})))
/// from the past only. Type I error at most α at any stopping time (Waudby-Smith & Ramdas 2023).
/// Conservative when |d| is small against 1: rescale scores to their known range.
///
/// # Errors
/// Slices of different length, scores outside \[0, 1\], α outside (0, 1).
pub fn sequential_paired(baseline: &[f64], candidate: &[f64], alpha: f64) -> Result<SequentialPaired, InputError> {
    finite_pairs(("baseline", baseline), ("candidate", candidate))?;
    in_unit_interval("baseline", baseline)?;
    in_unit_interval("candidate", candidate)?;
    open_probability("alpha", alpha)?;
    let pairs = baseline.iter().zip(candidate);
    let rescaled: Vec<f64> = pairs.map(|(b, c)| 0.5 * (c - b + 1.0)).collect();
    let bets = bets(&rescaled, (1.0 / alpha).ln());
    let process = |sign: f64| -> Vec<f64> {
        let gains = rescaled.iter().zip(&bets).map(|(x, bet)| 1.0 + sign * bet.min(1.0) * (x - 0.5));
        let mut wealth = 1.0;
        gains
            .map(|gain| {
                wealth *= gain;
                wealth
            })
            .collect()
    };
    let (e_improvement, e_regression) = (process(1.0), process(-1.0));
    let both = e_improvement.iter().zip(&e_regression);
    let e_two_sided: Vec<f64> = both.map(|(up, down)| 0.5 * (up + down)).collect();
    let stop = |e: &[f64]| e.iter().position(|&e| e >= 1.0 / alpha).map(|before| before + 1);
    let greatest = e_two_sided.iter().copied().reduce(f64::max);
    Ok(SequentialPaired {
        stop_improvement: stop(&e_improvement),
        stop_regression: stop(&e_regression),
        stop_two_sided: stop(&e_two_sided),
        anytime_p: greatest.map(|e| (1.0 / e).min(1.0)),
        e_improvement,
        e_regression,
        e_two_sided,
    })
}
