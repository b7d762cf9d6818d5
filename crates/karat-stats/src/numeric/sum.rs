//! Sums that keep their digits: compensated (Neumaier 1974), so that the error does not grow with
//! the number of terms.

/// Σ values. 0 for an empty slice.
pub fn sum(values: &[f64]) -> f64 {
    sum_of(values.iter().copied())
}

/// Σ of an iterator. 0 when it is empty.
pub fn sum_of(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut total, mut lost) = (0.0_f64, 0.0_f64);
    for x in values {
        let next = total + x;
        lost += if total.abs() >= x.abs() { (total - next) + x } else { (x - next) + total };
        total = next;
    }
    // An overflowed sum has no meaningful remainder (∞ − ∞).
    if total.is_finite() { total + lost } else { total }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn compensation_recovers_what_a_plain_sum_loses() {
        let values = [1.0, 1e100, 1.0, -1e100];
        assert!(values.iter().sum::<f64>().abs() < 0.5);
        assert!((sum(&values) - 2.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn a_sum_does_not_depend_on_order(values in prop::collection::vec(-1e6..1e6_f64, 0..60)) {
            let reversed = sum_of(values.iter().rev().copied());
            prop_assert!((sum(&values) - reversed).abs() <= 1e-15 * (1.0 + reversed.abs()));
        }
    }
}
