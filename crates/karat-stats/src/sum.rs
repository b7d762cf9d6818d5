//! Sums and moments that keep their digits.
//!
//! Sums are compensated (Neumaier 1974): the error does not grow with the number of terms. The
//! variance takes two passes with a correction for the rounded mean, so a large common offset
//! costs nothing.

/// Σ values, compensated. 0 for an empty slice.
pub fn sum(values: &[f64]) -> f64 {
    sum_of(values.iter().copied())
}

/// Σ of an iterator, compensated.
pub fn sum_of(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut total, mut lost) = (0.0_f64, 0.0_f64);
    for x in values {
        let next = total + x;
        lost += if total.abs() >= x.abs() {
            (total - next) + x
        } else {
            (x - next) + total
        };
        total = next;
    }
    // An overflowed sum has no meaningful remainder (∞ − ∞).
    if total.is_finite() { total + lost } else { total }
}

/// The arithmetic mean; `None` for an empty slice.
pub fn mean(values: &[f64]) -> Option<f64> {
    match extent(values)? {
        // The mean of equal values is that value, whatever their sum rounds to.
        (min, max) if min >= max => Some(min),
        (min, max) => Some((sum(values) / values.len() as f64).clamp(min, max)),
    }
}

/// The sample variance (÷ n − 1); `None` for fewer than two values, exactly 0 when all are equal.
pub fn variance(values: &[f64]) -> Option<f64> {
    (values.len() >= 2).then(|| squared_deviations(values) / (values.len() as f64 - 1.0))
}

/// The population variance (÷ n); `None` for an empty slice.
pub fn population_variance(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| squared_deviations(values) / values.len() as f64)
}

/// The sample standard deviation (÷ n − 1); `None` for fewer than two values.
pub fn std_dev(values: &[f64]) -> Option<f64> {
    variance(values).map(f64::sqrt)
}

/// The standard error of the mean, s/√n; `None` for fewer than two values.
pub fn std_error(values: &[f64]) -> Option<f64> {
    variance(values).map(|v| (v / values.len() as f64).sqrt())
}

/// The smallest and largest value; `None` for an empty slice.
pub fn extent(values: &[f64]) -> Option<(f64, f64)> {
    let first = *values.first()?;
    Some(
        values
            .iter()
            .fold((first, first), |(min, max), &x| (min.min(x), max.max(x))),
    )
}

/// Whether all values are equal. This, not `variance == 0`, is the test for a degenerate sample:
/// the mean of equal doubles can round.
pub fn is_constant(values: &[f64]) -> bool {
    extent(values).is_none_or(|(min, max)| min >= max)
}

fn squared_deviations(values: &[f64]) -> f64 {
    let Some(centre) = mean(values) else { return 0.0 };
    let squares = sum_of(values.iter().map(|x| (x - centre) * (x - centre)));
    let drift = sum_of(values.iter().map(|x| x - centre));
    (squares - drift * drift / values.len() as f64).max(0.0)
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
            assert_eq!(variance(&values).unwrap().to_bits(), 0.0_f64.to_bits());
            assert_eq!(mean(&values).unwrap().to_bits(), 0.1_f64.to_bits());
        }
    }

    #[test]
    fn one_value_has_a_mean_and_no_variance() {
        assert_eq!(mean(&[3.0]), Some(3.0));
        assert_eq!(variance(&[3.0]), None);
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn compensation_recovers_what_a_plain_sum_loses() {
        let plain: f64 = [1.0, 1e100, 1.0, -1e100].iter().sum();
        assert!(plain.abs() < 0.5);
        assert!((sum(&[1.0, 1e100, 1.0, -1e100]) - 2.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn mean_and_variance_follow_shift_and_scale(
            values in prop::collection::vec(-1e3..1e3_f64, 2..60),
            shift in -1e6..1e6_f64,
            scale in 0.1..50.0_f64,
        ) {
            let moved: Vec<f64> = values.iter().map(|x| scale * x + shift).collect();
            let (m, v) = (mean(&values).unwrap(), variance(&values).unwrap());
            prop_assert!((mean(&moved).unwrap() - (scale * m + shift)).abs() <= 1e-8 * (1.0 + shift.abs()));
            prop_assert!((variance(&moved).unwrap() - scale * scale * v).abs() <= 1e-5 * (1.0 + scale * scale * v));
        }

        #[test]
        fn moments_do_not_depend_on_order(values in prop::collection::vec(-1e6..1e6_f64, 2..60)) {
            let mut reversed = values.clone();
            reversed.reverse();
            prop_assert!((sum(&values) - sum(&reversed)).abs() <= 1e-15 * (1.0 + sum(&values).abs()));
        }
    }
}
