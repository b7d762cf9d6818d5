//! Pearson and Spearman correlation.

use crate::describe::{extent, is_constant, mean};
use crate::interval::{Interval, Level, Method};
use crate::numeric::input::{InputError, finite_pairs};
use crate::numeric::special::StudentT;
use crate::numeric::sum::sum_of;

/// A correlation with its p-value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Correlation {
    /// The coefficient in \[−1, 1\].
    pub value: f64,
    /// Two-sided p-value of no association; `None` for fewer than three pairs.
    pub p_value: Option<f64>,
}

/// Pearson's correlation with its Fisher-z interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PearsonCorrelation {
    /// r and its p-value from t with n − 2 degrees of freedom (0 for |r| = 1).
    pub correlation: Correlation,
    /// tanh(atanh r ± z/√(n−3)); `None` for n < 4 or |r| = 1.
    pub interval: Option<Interval>,
}

/// A coefficient this close to ±1 is ±1 up to rounding.
const UNIT_SLACK: f64 = 1e-13;

/// Pearson's product-moment correlation with an interval at the confidence `level`.
///
/// `None` for fewer than two pairs or when one side is constant. Measures linear association, not
/// agreement: a biased judge can have r = 1.
///
/// # Errors
/// Slices of different length, values that are not finite.
pub fn pearson(x: &[f64], y: &[f64], level: Level) -> Result<Option<PearsonCorrelation>, InputError> {
    finite_pairs(("x", x), ("y", y))?;
    let n = x.len() as f64;
    Ok(coefficient(x, y).map(|r| {
        let p_value = (x.len() > 2).then(|| two_sided_p(r, n));
        let z = level.z() / (n - 3.0).sqrt();
        let interval = (x.len() > 3 && r.abs() < 1.0).then(|| Interval {
            lo: (r.atanh() - z).tanh(),
            hi: (r.atanh() + z).tanh(),
            level,
            method: Method::FisherZ,
        });
        PearsonCorrelation { correlation: Correlation { value: r, p_value }, interval }
    }))
}

/// Spearman's rank correlation: Pearson's of the mid-ranks, p from t with n − 2 degrees of freedom.
///
/// `None` for fewer than two pairs or when one side is constant; no p-value for |ρ| = 1 (it is 0/0).
///
/// # Errors
/// Slices of different length, values that are not finite.
pub fn spearman(x: &[f64], y: &[f64]) -> Result<Option<Correlation>, InputError> {
    finite_pairs(("x", x), ("y", y))?;
    Ok(coefficient(&mid_ranks(x), &mid_ranks(y)).map(|rho| Correlation {
        value: rho,
        p_value: (x.len() > 2 && rho.abs() < 1.0).then(|| two_sided_p(rho, x.len() as f64)),
    }))
}

fn coefficient(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() < 2 || is_constant(x) || is_constant(y) {
        return None;
    }
    let (dx, dy) = (normalized_deviations(x)?, normalized_deviations(y)?);
    let r = sum_of(dx.iter().zip(&dy).map(|(a, b)| a * b));
    Some(if r.abs() > 1.0 - UNIT_SLACK { r.signum() } else { r })
}

/// Deviations from the mean, scaled to length 1; scaling by the range first avoids underflow.
fn normalized_deviations(values: &[f64]) -> Option<Vec<f64>> {
    let (centre, (min, max)) = (mean(values)?, extent(values)?);
    let range = max - min;
    let scaled: Vec<f64> = values.iter().map(|v| (v - centre) / range).collect();
    let length = sum_of(scaled.iter().map(|d| d * d)).sqrt();
    (length > 0.0 && range.is_finite()).then(|| scaled.iter().map(|d| d / length).collect())
}

/// 2·P(T ≥ |t|) with t = r·√((n−2)/(1−r²)).
fn two_sided_p(r: f64, n: f64) -> f64 {
    let df = n - 2.0;
    let t = r * (df / ((1.0 - r) * (1.0 + r))).sqrt();
    if r.abs() < 1.0 { StudentT::new(df).map_or(0.0, |distribution| distribution.two_sided(t)) } else { 0.0 }
}

/// Ranks from 1, ties sharing the mean of their ranks.
fn mid_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let first = values[order[start]];
        let ties = order[start..].iter().take_while(|&&i| values[i] <= first).count();
        for &index in &order[start..start + ties] {
            ranks[index] = start as f64 + 0.5 * (ties as f64 + 1.0);
        }
        start += ties;
    }
    ranks
}
