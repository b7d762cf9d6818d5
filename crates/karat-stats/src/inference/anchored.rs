//! People's mean from a judge's scores of all outputs and people's labels of some, by the design that chose these
//! (difference estimator, Cochran 1977; StratPPI, arXiv 2406.04291).

use super::Outcome;
use crate::describe::{mean, variance};
use crate::interval::{Interval, Level, Method};
use crate::numeric::input::{InputError, same_length};
use crate::numeric::sum::sum_of;

/// The outputs of a stratum of which some were labelled at random: one stratum for a plain random choice, strata of a
/// column, or those that a judge passed and failed.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledStratum {
    /// Outputs of this stratum, N_h.
    pub rows: u64,
    /// Mean of the judge's scores of all of them.
    pub judge_mean: f64,
    /// People's labels, y.
    pub human: Vec<f64>,
    /// The judge's scores of the labelled outputs, j, in the same order.
    pub judge: Vec<f64>,
}

/// People's mean with two intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeopleMean {
    /// θ.
    pub value: f64,
    /// The weight of the judge, from 0 to 1; 0 where the judge does not vary within strata.
    pub lambda: f64,
    /// Standard error of what people would say of these N outputs.
    pub dataset_error: f64,
    /// Standard error of what they would say of outputs like these.
    pub population_error: f64,
    /// Degrees of freedom; `None` below 1.
    pub df: Option<f64>,
    /// Interval for these N outputs: of no width where all are labelled.
    pub dataset: Option<Interval>,
    /// Interval for outputs like these.
    pub population: Option<Interval>,
}

/// People's mean of all outputs.
///
/// With W_h = N_h/N, φ_h = n_h/N_h and j̄_h over all N_h: θ = ΣW_h(λj̄_h + mean_h(y − λj));
/// λ = Σc_h cov_h(y, j)/Σc_h var_h(j), c_h = W_h²(1 − φ_h)/n_h, over strata of two labels and more, held to 0 to 1;
/// V = ΣW_h²(1 − φ_h)s̃_h²/n_h, s̃_h² = (SS_h + g)/(n_h + 1), SS_h the squares of y − λj about their mean, g = 1 for
/// pass/fail and (range/4)² for scores. The population adds S_y²/N, S_y² = ΣW_h(var_h(y) + (ȳ_h − θ)²). t with
/// df = V²/Σ(V_h²/max(n_h − 1, 1)), at most n − H.
///
/// `weight` replaces λ: 0 for the labels alone, 1 for a judge at full weight.
///
/// `None` when there is no stratum, one has no label, or more labels than rows.
///
/// # Errors
/// When labels and scores of a stratum differ in number.
pub fn people_mean(
    strata: &[LabelledStratum],
    outcome: Outcome,
    range: f64,
    weight: Option<f64>,
    level: Level,
) -> Result<Option<PeopleMean>, InputError> {
    for stratum in strata {
        same_length("people's labels", stratum.human.len(), "the judge's scores", stratum.judge.len())?;
    }
    let labelled = |it: &LabelledStratum| !it.human.is_empty() && it.human.len() as u64 <= it.rows;
    if strata.is_empty() || !strata.iter().all(labelled) {
        return Ok(None);
    }
    let total = sum_of(strata.iter().map(|stratum| stratum.rows as f64));
    let lambda = weight.unwrap_or_else(|| judge_weight(strata, total));
    let prior = if outcome == Outcome::PassFail { 1.0 } else { (0.25 * range).powi(2) };
    let part = |stratum: &LabelledStratum| {
        let (weight, left, n) = stratum.shares(total);
        let rest: Vec<f64> = stratum.human.iter().zip(&stratum.judge).map(|(y, j)| y - lambda * j).collect();
        let centre = mean(&rest)?;
        let squares = sum_of(rest.iter().map(|x| (x - centre).powi(2)));
        let variance = weight * weight * left * (squares + prior) / (n + 1.0) / n;
        Some((weight * (lambda * stratum.judge_mean + centre), variance, (n - 1.0).max(1.0)))
    };
    let Some(parts) = strata.iter().map(part).collect::<Option<Vec<_>>>() else { return Ok(None) };
    let value = sum_of(parts.iter().map(|part| part.0));
    let of_labels = sum_of(parts.iter().map(|part| part.1));
    let of_outputs = sum_of(strata.iter().filter_map(|stratum| {
        let spread = variance(&stratum.human).unwrap_or_default();
        Some(stratum.shares(total).0 * (spread + (mean(&stratum.human)? - value).powi(2)))
    }));
    let labels: usize = strata.iter().map(|stratum| stratum.human.len()).sum();
    let freedom = labels as f64 - strata.len() as f64;
    let satterthwaite = of_labels.powi(2) / sum_of(parts.iter().map(|part| part.1 * part.1 / part.2));
    let df = if satterthwaite.is_finite() { satterthwaite.min(freedom) } else { freedom };
    let df = Some(df).filter(|df| *df >= 1.0);
    let (dataset_error, population_error) = (of_labels.sqrt(), (of_labels + of_outputs / total).sqrt());
    let t = df.and_then(|df| level.t(df));
    let around = |se: f64| Some(Interval::around(value, t? * se, level, Method::PredictionPowered));
    let is_whole = strata.iter().all(|stratum| stratum.human.len() as u64 == stratum.rows);
    let known = is_whole.then(|| Interval::around(value, 0.0, level, Method::PredictionPowered));
    let (dataset, population) = (known.or_else(|| around(dataset_error)), around(population_error));
    Ok(Some(PeopleMean { value, lambda, dataset_error, population_error, df, dataset, population }))
}

impl LabelledStratum {
    /// W_h, 1 − φ_h and n_h.
    fn shares(&self, total: f64) -> (f64, f64, f64) {
        let (n, rows) = (self.human.len() as f64, self.rows as f64);
        (rows / total, 1.0 - n / rows, n)
    }
}

/// λ: how much of people's variation within strata the judge explains.
fn judge_weight(strata: &[LabelledStratum], total: f64) -> f64 {
    let term = |stratum: &LabelledStratum| {
        let (weight, left, n) = stratum.shares(total);
        let (y, j) = (mean(&stratum.human)?, mean(&stratum.judge)?);
        let pairs = stratum.human.iter().zip(&stratum.judge);
        let covariance = sum_of(pairs.map(|(a, b)| (a - y) * (b - j))) / (n - 1.0);
        let factor = weight * weight * left / n;
        Some((factor * covariance, factor * variance(&stratum.judge)?))
    };
    let several = strata.iter().filter(|stratum| stratum.human.len() > 1);
    let (shared, own): (Vec<f64>, Vec<f64>) = several.filter_map(term).unzip();
    let own = sum_of(own);
    if own > 0.0 { (sum_of(shared) / own).clamp(0.0, 1.0) } else { 0.0 }
}
