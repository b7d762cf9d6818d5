//! The composite of the dimensions.

use karat_types::{Dimension, Overall, OverallMethod, Score};

/// The overall of dimension scores, each with its dimension; `given` is what the judge says it is.
///
/// mean = Σxᵢ/n; weighted mean = Σwᵢxᵢ/Σwᵢ; then rounded. A dimension that does not apply is left out; one that is
/// unscored makes the overall unscored.
pub(super) fn overall(overall: &Overall, scores: &[(&Dimension, &Score)], given: Option<&Score>) -> Score {
    if overall.method == OverallMethod::Given {
        return match given {
            Some(Score::Value { value, reason, .. }) => {
                Score::value(round(*value, overall.round)).explained(reason.clone())
            }
            Some(other) => other.clone(),
            None => Score::unscored("the judge did not give it"),
        };
    }
    if let Some((dimension, _)) = scores.iter().find(|(_, score)| score.is_unscored()) {
        return Score::unscored(format!("`{}` is unscored", dimension.name));
    }
    let values: Vec<(f64, f64)> =
        scores.iter().filter_map(|(dimension, score)| Some((score.number()?, dimension.weight))).collect();
    match composite(overall.method, &values) {
        Some(value) => Score::value(round(value, overall.round)),
        None => Score::not_applicable("no dimension applies"),
    }
}

/// The composite of values and weights; `None` without values, or where all weights are 0.
pub(super) fn composite(method: OverallMethod, values: &[(f64, f64)]) -> Option<f64> {
    let sum: f64 = values.iter().map(|(value, _)| value).sum();
    let weight: f64 = values.iter().map(|(_, weight)| weight).sum();
    match method {
        _ if values.is_empty() => None,
        OverallMethod::Mean => Some(sum / values.len() as f64),
        OverallMethod::WeightedMean => {
            let weighted: f64 = values.iter().map(|(value, weight)| value * weight).sum();
            (weight > 0.0).then_some(weighted / weight)
        }
        OverallMethod::Sum => Some(sum),
        OverallMethod::Min => values.iter().map(|(value, _)| *value).reduce(f64::min),
        OverallMethod::Given => None,
    }
}

/// Rounded to so many decimals, half to even on the exact binary value, as decimal formatting does.
pub(super) fn round(value: f64, decimals: Option<u32>) -> f64 {
    match decimals {
        Some(decimals) => format!("{value:.*}", decimals as usize).parse().unwrap_or(value),
        None => value,
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the decimals are exact")]
mod tests {
    use super::*;

    /// BR-03: the weighted mean is rounded to two decimals on the exact binary value.
    #[test]
    fn rounding_is_that_of_decimal_formatting() {
        assert_eq!(round(2.675, Some(2)), 2.67);
        assert_eq!(round(0.125, Some(2)), 0.12);
        assert_eq!(round(0.375, Some(2)), 0.38);
        assert_eq!(round(3.7215, None), 3.7215);
    }

    #[test]
    fn every_method() {
        let values = [(1.0, 3.0), (5.0, 1.0)];
        assert_eq!(composite(OverallMethod::Mean, &values), Some(3.0));
        assert_eq!(composite(OverallMethod::WeightedMean, &values), Some(2.0));
        assert_eq!(composite(OverallMethod::Sum, &values), Some(6.0));
        assert_eq!(composite(OverallMethod::Min, &values), Some(1.0));
        assert_eq!(composite(OverallMethod::Mean, &[]), None);
        assert_eq!(composite(OverallMethod::WeightedMean, &[(1.0, 0.0)]), None);
    }
}
