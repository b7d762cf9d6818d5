//! Means of stratified samples (Cochran 1977, ch. 5).

use super::{mean, standard_deviation};
use crate::numeric::sum::sum_of;

/// A stratum: how many items the population holds, and those that were scored.
#[derive(Debug, Clone, PartialEq)]
pub struct Stratum {
    /// Items in the population, N_h.
    pub population: f64,
    /// Values of the sampled items.
    pub values: Vec<f64>,
}

/// A population mean estimated from a stratified sample.
#[derive(Debug, Clone, PartialEq)]
pub struct StratifiedMean {
    /// Σ W_h ȳ_h with W_h = N_h/N.
    pub mean: f64,
    /// √(Σ W_h² s_h²/n_h): the items stand for a larger world. `None` when a stratum has one item.
    pub standard_error: Option<f64>,
    /// √(Σ W_h² (1 − n_h/N_h) s_h²/n_h): the population is all there is.
    pub finite_standard_error: Option<f64>,
    /// Neyman allocation n_h ∝ W_h s_h, as fractions; `None` when undefined or nothing varies.
    pub neyman: Option<Vec<f64>>,
}

/// `None` when there is no stratum, a stratum is empty, or a population is not positive or smaller
/// than its sample.
pub fn stratified_mean(strata: &[Stratum]) -> Option<StratifiedMean> {
    let valid = |s: &Stratum| s.population.is_finite() && s.population >= s.values.len() as f64;
    if strata.is_empty() || !strata.iter().all(valid) {
        return None;
    }
    let total = sum_of(strata.iter().map(|s| s.population));
    let weights: Vec<f64> = strata.iter().map(|s| s.population / total).collect();
    let means: Vec<f64> = strata.iter().map(|s| mean(&s.values)).collect::<Option<_>>()?;
    let deviations: Option<Vec<f64>> = strata.iter().map(|s| standard_deviation(&s.values)).collect();
    let error = |finite: bool| {
        let deviations = deviations.as_ref()?;
        let term = |((s, w), sd): ((&Stratum, &f64), &f64)| {
            let n = s.values.len() as f64;
            let unsampled = if finite { 1.0 - n / s.population } else { 1.0 };
            w * w * unsampled * sd * sd / n
        };
        Some(sum_of(strata.iter().zip(&weights).zip(deviations).map(term)).sqrt())
    };
    Some(StratifiedMean {
        mean: sum_of(weights.iter().zip(&means).map(|(w, m)| w * m)),
        standard_error: error(false),
        finite_standard_error: error(true),
        neyman: deviations.as_ref().and_then(|sd| neyman(&weights, sd)),
    })
}

fn neyman(weights: &[f64], deviations: &[f64]) -> Option<Vec<f64>> {
    let shares: Vec<f64> = weights.iter().zip(deviations).map(|(w, s)| w * s).collect();
    let total = sum_of(shares.iter().copied());
    (total > 0.0).then(|| shares.iter().map(|s| s / total).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stratum(population: f64, values: &[f64]) -> Stratum {
        Stratum { population, values: values.to_vec() }
    }

    #[test]
    fn a_census_has_no_finite_population_error() {
        let m = stratified_mean(&[stratum(2.0, &[0.0, 1.0]), stratum(3.0, &[1.0, 1.0, 0.0])]).unwrap();
        assert!((m.mean - 0.6).abs() < 1e-12);
        assert_eq!(m.finite_standard_error, Some(0.0));
    }

    #[test]
    fn a_stratum_of_one_leaves_the_error_undefined() {
        let m = stratified_mean(&[stratum(9.0, &[1.0]), stratum(3.0, &[1.0, 0.0])]).unwrap();
        assert_eq!((m.standard_error, m.neyman), (None, None));
    }

    #[test]
    fn an_empty_stratum_or_none_is_undefined() {
        assert_eq!(stratified_mean(&[]), None);
        assert_eq!(stratified_mean(&[stratum(3.0, &[])]), None);
        assert_eq!(stratified_mean(&[stratum(1.0, &[0.0, 1.0])]), None);
    }
}
