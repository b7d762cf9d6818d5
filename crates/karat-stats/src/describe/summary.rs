//! The descriptive summary of one metric.

use super::{mean, median_absolute_deviation, population_variance, quantile_of_sorted, sorted, variance};
use crate::numeric::sum::sum;

/// The statistics of one metric in a table. Every field is in the units of the values; variances are squared.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// Σ values.
    pub sum: Option<f64>,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median.
    pub median: Option<f64>,
    /// Smallest value.
    pub min: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
    /// Sample variance (÷ n − 1).
    pub variance: Option<f64>,
    /// Sample standard deviation.
    pub standard_deviation: Option<f64>,
    /// Standard error of the mean, s/√n.
    pub standard_error: Option<f64>,
    /// Population variance (÷ n).
    pub population_variance: Option<f64>,
    /// Raw median absolute deviation.
    pub median_absolute_deviation: Option<f64>,
}

/// Summarizes the observed values; all fields but `n` are `None` when there are none, and the
/// spread is undefined for one.
pub fn summarize(values: &[f64]) -> Summary {
    let ascending = sorted(values);
    let variance = variance(values);
    Summary {
        n: values.len(),
        sum: Some(sum(values)).filter(|s| !values.is_empty() && s.is_finite()),
        mean: mean(values),
        median: quantile_of_sorted(&ascending, 0.5),
        min: ascending.first().copied(),
        max: ascending.last().copied(),
        variance,
        standard_deviation: variance.map(f64::sqrt),
        standard_error: variance.map(|v| (v / values.len() as f64).sqrt()),
        population_variance: population_variance(values),
        median_absolute_deviation: median_absolute_deviation(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_observed_is_undefined_and_not_zero() {
        assert_eq!(summarize(&[]), Summary::default());
    }

    #[test]
    fn one_value_has_no_standard_error() {
        let one = summarize(&[0.5]);
        assert_eq!((one.n, one.mean, one.standard_error), (1, Some(0.5), None));
    }
}
