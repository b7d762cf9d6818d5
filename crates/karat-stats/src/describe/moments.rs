//! Mean, variance, standard deviation and error.

use crate::numeric::sum::{sum, sum_of};

/// The arithmetic mean; `None` for an empty slice, a value that is not finite, or when the sum overflows.
pub fn mean(values: &[f64]) -> Option<f64> {
    let (min, max) = extent(values)?;
    // The mean of equal values is that value, whatever their sum rounds to.
    if min >= max {
        return Some(min);
    }
    let total = sum(values);
    total.is_finite().then(|| (total / values.len() as f64).clamp(min, max))
}

/// The sample variance (÷ n − 1), exactly 0 when all values are equal.
///
/// `None` for fewer than two values or when the squares overflow.
pub fn variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    Some(squared_deviations(values)? / (values.len() as f64 - 1.0))
}

/// The population variance (÷ n); `None` for an empty slice or when the squares overflow.
pub fn population_variance(values: &[f64]) -> Option<f64> {
    Some(squared_deviations(values)? / values.len() as f64)
}

/// The sample standard deviation s (÷ n − 1); `None` for fewer than two values.
///
/// Numbers whose squares underflow are measured in units of the largest.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let (variance_as_is, size) = (variance(values)?, magnitude(values));
    if variance_as_is >= f64::MIN_POSITIVE || size <= 0.0 {
        return Some(variance_as_is.sqrt());
    }
    let scaled: Vec<f64> = values.iter().map(|value| value / size).collect();
    variance(&scaled).map(|variance| variance.sqrt() * size)
}

/// The standard error of the mean, s/√n; `None` for fewer than two values.
pub fn standard_error(values: &[f64]) -> Option<f64> {
    variance(values).map(|v| (v / values.len() as f64).sqrt())
}

/// The smallest and the largest value; `None` for an empty slice, or one with a value that is not finite.
pub fn extent(values: &[f64]) -> Option<(f64, f64)> {
    let first = *values.first()?;
    let widen = |(min, max): (f64, f64), &x: &f64| (min.min(x), max.max(x));
    let ends = values.iter().fold((first, first), widen);
    // The extremes pass over a NaN, a sum of zeros times the values does not.
    let is_finite = values.iter().map(|x| 0.0 * x).sum::<f64>().abs() <= 0.0;
    is_finite.then_some(ends)
}

/// Returns true if all values are equal except for rounding (also if there are none).
///
/// This, not `variance == 0`, is the test for a degenerate sample: the mean of equal doubles can
/// round.
pub fn is_constant(values: &[f64]) -> bool {
    extent(values).is_none_or(|(min, max)| is_rounding(max - min, magnitude(values)))
}

/// Returns true if a spread is within the rounding error of numbers of this size: 16 units in the last place.
pub fn is_rounding(spread: f64, size: f64) -> bool {
    spread <= 16.0 * f64::EPSILON * size
}

/// The largest absolute value; 0 for none.
pub fn magnitude(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |size, value| size.max(value.abs()))
}

/// Σ(x − x̄)², in two passes with a correction for the rounded mean.
fn squared_deviations(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    let squares = sum_of(values.iter().map(|x| (x - centre) * (x - centre)));
    let drift = sum_of(values.iter().map(|x| x - centre));
    let corrected = squares - drift * drift / values.len() as f64;
    corrected.is_finite().then(|| corrected.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_large_offset_does_not_swallow_the_variance() {
        let values = [1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0];
        assert!((variance(&values).unwrap() - 30.0).abs() < 1e-9);
    }

    #[test]
    fn equal_values_have_no_variance_whatever_their_mean_rounds_to() {
        for n in 2..200 {
            let values = vec![0.1; n];
            assert_eq!(variance(&values), Some(0.0));
            assert_eq!(mean(&values), Some(0.1));
        }
    }

    /// GE-06: one value has no standard error, rather than one of 0.
    #[test]
    fn one_value_has_a_mean_and_no_spread() {
        assert_eq!(mean(&[3.0]), Some(3.0));
        assert_eq!(standard_error(&[3.0]), None);
        assert_eq!(population_variance(&[3.0]), Some(0.0));
        assert_eq!(mean(&[]), None);
        assert!(is_constant(&[3.0]) && !is_constant(&[3.0, 4.0]));
    }

    #[test]
    fn values_that_differ_by_rounding_only_are_constant() {
        assert!(is_constant(&[0.9 - 0.6, 0.8 - 0.5, 0.3]));
        assert!(!is_constant(&[0.3, 0.300_000_1]) && !is_constant(&[1e-200, 2e-200]));
    }

    #[test]
    fn an_overflow_is_undefined_and_never_nan() {
        assert_eq!(mean(&[f64::MAX, f64::MAX, 0.0]), None);
        assert_eq!(variance(&[f64::MAX, -f64::MAX]), None);
    }

    /// Invariant: a value that is not finite is refused at any position; there is no mean of the others.
    #[test]
    fn non_finite_values_have_no_moments() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for values in [&[bad][..], &[bad, 1.0], &[1.0, bad], &[1.0, bad, 2.0], &[bad, bad]] {
                let found = (mean(values), variance(values), standard_error(values), extent(values));
                assert_eq!(found, (None, None, None, None), "{values:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn moments_follow_shift_and_scale(
            values in prop::collection::vec(-1e3..1e3_f64, 2..60),
            shift in -1e4..1e4_f64,
            scale in 0.1..50.0_f64,
        ) {
            let moved: Vec<f64> = values.iter().map(|x| scale * x + shift).collect();
            let expected = scale * mean(&values).unwrap() + shift;
            prop_assert!((mean(&moved).unwrap() - expected).abs() <= 1e-10 * (1.0 + expected.abs() + shift.abs()));
            let expected = scale * scale * variance(&values).unwrap();
            prop_assert!((variance(&moved).unwrap() - expected).abs() <= 1e-6 * (1.0 + expected));
        }

        #[test]
        fn the_mean_lies_within_the_extent(values in prop::collection::vec(-1e300..1e300_f64, 1..60)) {
            if let Some(mean) = mean(&values) {
                let (min, max) = extent(&values).unwrap();
                prop_assert!(min <= mean && mean <= max);
            }
        }
    }
}
