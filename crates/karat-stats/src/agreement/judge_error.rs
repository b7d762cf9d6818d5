//! The distance of a judge's scores from human scores, in the units of the score.

use crate::describe::{is_constant, mean, standard_deviation};
use crate::interval::{Interval, Level, Method};
use crate::numeric::input::{InputError, finite_pairs};
use crate::numeric::sum::sum_of;

/// Errors of a judge against human scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgeError {
    /// Number of items.
    pub n: usize,
    /// Mean of judge − human; positive for a lenient judge.
    pub bias: f64,
    /// t interval of the bias; `None` for one item.
    pub bias_interval: Option<Interval>,
    /// Mean absolute error.
    pub mean_absolute_error: f64,
    /// Root mean square error.
    pub root_mean_square_error: f64,
    /// Standard deviation (n − 1) of the differences; `None` for one item.
    pub sd_of_differences: Option<f64>,
    /// Share of items with the same score.
    pub exact_agreement: f64,
    /// Share of items at most 1 apart.
    pub within_one: f64,
    /// Bland-Altman limits; `None` for one item.
    pub limits: Option<BlandAltman>,
    /// Lin's concordance; `None` for one item or when both are the same constant.
    pub concordance: Option<f64>,
}

/// Limits of agreement: between them lie about 95 % of the differences (Bland & Altman 1999).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlandAltman {
    /// bias − 1.96·sd.
    pub lower: f64,
    /// bias + 1.96·sd.
    pub upper: f64,
    /// Interval of the lower limit: ± t·√(s²(1/n + 1.96²/(2(n−1)))).
    pub lower_interval: Interval,
    /// Interval of the upper limit.
    pub upper_interval: Interval,
}

/// Errors of `judge` against `human`, with t intervals; `None` without items.
///
/// Concordance is Lin's 1989 coefficient with population moments.
///
/// # Errors
/// Slices of different length, values that are not finite.
pub fn judge_error(judge: &[f64], human: &[f64], level: Level) -> Result<Option<JudgeError>, InputError> {
    finite_pairs(("judge", judge), ("human", human))?;
    let differences: Vec<f64> = judge.iter().zip(human).map(|(j, h)| j - h).collect();
    let Some(bias) = mean(&differences) else {
        return Ok(None);
    };
    let n = differences.len() as f64;
    let share = |holds: fn(f64) -> bool| differences.iter().filter(|&&d| holds(d)).count() as f64 / n;
    let sd = standard_deviation(&differences);
    let t = level.t(n - 1.0);
    let around = |centre: f64, half_width: f64| {
        let method = if half_width > 0.0 { Method::StudentT } else { Method::Degenerate };
        Interval::around(centre, half_width, level, method)
    };
    Ok(Some(JudgeError {
        n: differences.len(),
        bias,
        bias_interval: sd.zip(t).map(|(sd, t)| around(bias, t * sd / n.sqrt())),
        mean_absolute_error: sum_of(differences.iter().map(|d| d.abs())) / n,
        root_mean_square_error: (sum_of(differences.iter().map(|d| d * d)) / n).sqrt(),
        sd_of_differences: sd,
        exact_agreement: share(|d| d.abs() <= 0.0),
        within_one: share(|d| d.abs() <= 1.0),
        limits: sd.zip(t).map(|(sd, t)| {
            let (lower, upper) = (bias - LIMIT_Z * sd, bias + LIMIT_Z * sd);
            let half = t * sd * (1.0 / n + LIMIT_Z * LIMIT_Z / (2.0 * (n - 1.0))).sqrt();
            BlandAltman { lower, upper, lower_interval: around(lower, half), upper_interval: around(upper, half) }
        }),
        concordance: concordance(judge, human),
    }))
}

/// The conventional multiplier of Bland & Altman.
const LIMIT_Z: f64 = 1.96;

/// 2 s_jh / (s_j² + s_h² + (j̄ − h̄)²), moments over n.
fn concordance(judge: &[f64], human: &[f64]) -> Option<f64> {
    let (judge_mean, human_mean) = (mean(judge)?, mean(human)?);
    let n = judge.len() as f64;
    let mut covariance = 0.0;
    let mut spread = 0.0;
    for (j, h) in judge.iter().zip(human) {
        let (j, h) = (j - judge_mean, h - human_mean);
        covariance += j * h / n;
        spread += (j * j + h * h) / n;
    }
    let denominator = spread + (judge_mean - human_mean).powi(2);
    let one_value = is_constant(judge) && is_constant(human) && judge.first() == human.first();
    (judge.len() > 1 && !one_value).then(|| 2.0 * covariance / denominator)
}
