//! Figures of samples that were drawn with unequal, known probability (Cochran 1977, ch. 5; Hájek 1971).

use super::Outcome;
use crate::describe::{Proportion, is_rounding, magnitude, mean, variance};
use crate::interval::{Interval, Level, Method};
use crate::numeric::input::{InputError, in_domain, same_length};
use crate::numeric::sum::sum_of;

/// The scores of rows that were drawn from a stratum.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnStratum {
    /// Rows of the frame in this stratum.
    pub rows: u64,
    /// Scores of those that were drawn.
    pub scores: Vec<f64>,
}

/// The estimand of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The rows of the frame: nothing is estimated where all were drawn.
    Frame,
    /// The population behind the frame, as for gates and contrasts.
    Population,
}

/// A mean of weighted scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DesignMean {
    /// The mean.
    pub value: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Degrees of freedom; `None` where the variance is 0.
    pub df: Option<f64>,
    /// Effective number of independent samples, where the interval uses it.
    pub effective_n: Option<f64>,
    /// Its interval.
    pub interval: Option<Interval>,
}

/// The mean over a frame of which each stratum was drawn from at its own rate.
///
/// With W_h = N_h/N and f_h = n_h/N_h (0 for [`Reach::Population`]): θ = ΣW_h x̄_h, V = ΣV_h, V_h = W_h²(1 − f_h)s_h²/n_h,
/// df = V²/Σ(V_h²/max(n_h − 1, 1)). Pass/fail: s_h² = p̃_h(1 − p̃_h) with p̃_h = (passes + 1)/(n_h + 2), interval Wilson
/// with t at (θ, θ̃(1 − θ̃)/V), θ̃ = ΣW_h p̃_h. Scores: θ ± t√V; a stratum of one score has the pooled s².
///
/// `None` when there is no stratum, one is empty, or one holds more scores than rows. No interval where nothing varies
/// though rows are left.
pub fn stratified_figure(strata: &[DrawnStratum], outcome: Outcome, reach: Reach, level: Level) -> Option<DesignMean> {
    let drawn = |stratum: &DrawnStratum| !stratum.scores.is_empty() && stratum.scores.len() as u64 <= stratum.rows;
    if strata.is_empty() || !strata.iter().all(drawn) {
        return None;
    }
    let total = sum_of(strata.iter().map(|stratum| stratum.rows as f64));
    let pooled = pooled_variance(strata);
    let part = |stratum: &DrawnStratum| {
        let (n, rows) = (stratum.scores.len() as f64, stratum.rows as f64);
        let weight = rows / total;
        let left = if reach == Reach::Frame { 1.0 - n / rows } else { 1.0 };
        let shrunken = (sum_of(stratum.scores.iter().copied()) + 1.0) / (n + 2.0);
        let spread = match outcome {
            Outcome::PassFail => shrunken * (1.0 - shrunken),
            Outcome::Score => variance(&stratum.scores).unwrap_or(pooled),
        };
        let value = weight * mean(&stratum.scores)?;
        Some((value, weight * shrunken, weight * weight * left * spread / n, (n - 1.0).max(1.0)))
    };
    let parts: Vec<(f64, f64, f64, f64)> = strata.iter().map(part).collect::<Option<_>>()?;
    let value = sum_of(parts.iter().map(|part| part.0));
    let shrunken = sum_of(parts.iter().map(|part| part.1));
    let variance = sum_of(parts.iter().map(|part| part.2));
    let df = variance.powi(2) / sum_of(parts.iter().map(|part| part.2 * part.2 / part.3));
    let df = Some(df).filter(|df| df.is_finite() && *df > 0.0);
    let se = variance.sqrt();
    let is_census = reach == Reach::Frame && strata.iter().all(|s| s.scores.len() as u64 == s.rows);
    if is_census {
        let interval = Some(Interval::around(value, 0.0, level, Method::Stratified));
        return Some(DesignMean { value, standard_error: 0.0, df: None, effective_n: None, interval });
    }
    let (effective_n, interval) = match outcome {
        Outcome::PassFail => {
            let worth = shrunken * (1.0 - shrunken) / variance;
            let proportion = Proportion::new((value * worth).clamp(0.0, worth), worth);
            let interval = proportion.zip(df).and_then(|(found, df)| found.cluster_wilson(df, level));
            (Some(worth), interval.map(|it| Interval { method: Method::StratifiedWilson, ..it }))
        }
        Outcome::Score => {
            let largest = strata.iter().map(|s| magnitude(&s.scores)).fold(0.0, f64::max);
            let half = df.filter(|_| !is_rounding(se, largest)).and_then(|df| level.t(df)).map(|t| t * se);
            (None, half.map(|half| Interval::around(value, half, level, Method::Stratified)))
        }
    };
    Some(DesignMean { value, standard_error: se, df, effective_n, interval })
}

/// Σ(n_h − 1)s_h²/Σ(n_h − 1); 0 where no stratum has two scores.
fn pooled_variance(strata: &[DrawnStratum]) -> f64 {
    let freedom = |stratum: &DrawnStratum| stratum.scores.len() as f64 - 1.0;
    let squares = |stratum: &DrawnStratum| variance(&stratum.scores).map_or(0.0, |s2| s2 * freedom(stratum));
    let total = sum_of(strata.iter().map(freedom));
    if total > 0.0 { sum_of(strata.iter().map(squares)) / total } else { 0.0 }
}

/// The mean of rows that were drawn each with its own probability p (Hájek): w = 1/p, T = Σw, θ = Σwx/T,
/// V = n/(n − 1)·Σw²(x − θ)²/T², θ ± t_{n−1}√V; pass/fail: Wilson with z at (θ, min(T²/Σw², θ(1 − θ)/V)).
/// `None` for no scores; no interval for fewer than two, or where scores do not vary.
///
/// # Errors
/// When the lengths differ, or a probability is not above 0 and at most 1.
pub fn drawn_mean(
    scores: &[f64],
    probabilities: &[f64],
    outcome: Outcome,
    level: Level,
) -> Result<Option<DesignMean>, InputError> {
    same_length("scores", scores.len(), "probabilities", probabilities.len())?;
    for p in probabilities {
        in_domain("a probability", *p, "above 0 and at most 1", *p > 0.0 && *p <= 1.0)?;
    }
    if scores.is_empty() {
        return Ok(None);
    }
    let weights: Vec<f64> = probabilities.iter().map(|p| 1.0 / p).collect();
    let total = sum_of(weights.iter().copied());
    let value = sum_of(scores.iter().zip(&weights).map(|(x, w)| x * w)) / total;
    let n = scores.len() as f64;
    let squares = sum_of(scores.iter().zip(&weights).map(|(x, w)| (w * (x - value)).powi(2)));
    let variance = if n > 1.0 { n / (n - 1.0) * squares / (total * total) } else { 0.0 };
    let kish = total * total / sum_of(weights.iter().map(|w| w * w));
    let se = variance.sqrt();
    let varies = !is_rounding(se, magnitude(scores));
    let df = (n > 1.0).then_some(n - 1.0);
    let (effective_n, interval) = match outcome {
        Outcome::PassFail => {
            let rate = value.clamp(0.0, 1.0);
            let worth = if varies { kish.min(rate * (1.0 - rate) / variance) } else { kish };
            let found = Proportion::new((rate * worth).clamp(0.0, worth), worth).filter(|_| n > 1.0);
            (worth, found.map(|it| Interval { method: Method::WeightedWilson, ..it.wilson(level) }))
        }
        Outcome::Score => {
            let half = df.filter(|_| varies).and_then(|df| level.t(df)).map(|t| t * se);
            (kish, half.map(|half| Interval::around(value, half, level, Method::Weighted)))
        }
    };
    Ok(Some(DesignMean { value, standard_error: se, df, effective_n: Some(effective_n), interval }))
}
