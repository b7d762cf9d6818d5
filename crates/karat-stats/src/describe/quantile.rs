//! Order statistics. Two definitions of a quantile are in use and differ visibly below n = 100:
//! scores use the interpolated one, latencies the nearest rank.

/// A sorted copy.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// The `p` quantile with linear interpolation (type 7 of Hyndman & Fan 1996, numpy's default);
/// `p` is held to \[0, 1\]. `None` for an empty slice.
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    if p.is_nan() || !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let (below, share) = position(last, p);
    // By selection, in time linear in their number.
    let mut values = values.to_vec();
    let (_, lo, above) = values.select_nth_unstable_by(below, f64::total_cmp);
    let hi = above.iter().copied().min_by(f64::total_cmp).unwrap_or(*lo);
    Some(between(*lo, hi, share))
}

/// [`quantile`] of values already in ascending order.
pub fn quantile_of_sorted(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    if !(sorted[0].is_finite() && sorted[last].is_finite() && !p.is_nan()) {
        return None;
    }
    let (below, share) = position(last, p);
    Some(between(sorted[below], sorted[(below + 1).min(last)], share))
}

/// The position of the `p` quantile in ascending values: the index below it, and the share of the distance to the next.
fn position(last: usize, p: f64) -> (usize, f64) {
    let position = p.clamp(0.0, 1.0) * last as f64;
    let below = (position.floor() as usize).min(last);
    (below, position - below as f64)
}

/// The value at a share of the way between two: from the nearer end, so that the ends themselves are met exactly; and never
/// through a difference, which could overflow.
fn between(lo: f64, hi: f64, share: f64) -> f64 {
    let value = if lo >= hi { lo } else { lo * (1.0 - share) + hi * share };
    value.clamp(lo, hi)
}

/// The nearest-rank `p` quantile of ascending values: x₍⌈p·n⌉₎, an observed value.
/// `None` for an empty slice.
///
/// `p` stands for the decimal it was written as: 0.07 of 100 values is the 7th, although the
/// double 0.07 · 100 exceeds 7.
pub fn nearest_rank(sorted: &[f64], p: f64) -> Option<f64> {
    sorted.get(place(sorted.len(), p)).copied()
}

/// [`nearest_rank`] of values in any order, found by selection in time linear in their number.
pub fn nearest_rank_of(values: &[f64], p: f64) -> Option<f64> {
    let mut values = values.to_vec();
    let place = place(values.len(), p);
    (place < values.len()).then(|| *values.select_nth_unstable_by(place, f64::total_cmp).1)
}

/// Index of the nearest rank among `n` ascending values; 0 for none.
fn place(n: usize, p: f64) -> usize {
    let exact = p.clamp(0.0, 1.0) * n as f64;
    let rank = (exact - 1e-12 * exact.max(1.0)).ceil() as usize;
    rank.clamp(1, n.max(1)) - 1
}

/// The middle value, or the mean of the two middle values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The median of |x − median|, raw (multiply by 1.4826 only to estimate a normal σ).
pub fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let deviations: Vec<f64> = values.iter().map(|x| (x - centre).abs()).collect();
    median(&deviations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn selection_finds_what_sorting_finds() {
        let values: Vec<f64> = (0..97).map(|at| f64::from(at * 37 % 97) - 40.0).collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        for p in [0.0, 0.01, 0.5, 0.95, 0.99, 1.0] {
            assert_eq!(nearest_rank_of(&values, p), nearest_rank(&sorted, p));
            assert_eq!(quantile(&values, p), quantile_of_sorted(&sorted, p));
        }
        assert_eq!(nearest_rank_of(&[], 0.5), None);
        assert_eq!(quantile(&[1.0, f64::INFINITY, 2.0], 0.1), None);
    }

    #[test]
    fn interpolated_and_nearest_rank_differ() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        assert!((quantile(&values, 0.95).unwrap() - 19.05).abs() < 1e-12);
        assert_eq!(nearest_rank(&values, 0.95), Some(19.0));
    }

    #[test]
    fn a_rank_is_that_of_the_decimal() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        for rank in 1..=100_u32 {
            assert_eq!(nearest_rank(&values, f64::from(rank) / 100.0), Some(f64::from(rank)));
        }
        assert_eq!(nearest_rank(&values, 0.0), Some(1.0));
        assert_eq!(nearest_rank(&[], 0.5), None);
    }

    #[test]
    fn the_median_of_an_even_count_is_the_middle_of_two() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median_absolute_deviation(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), Some(1.0));
        assert_eq!(median(&[]), None);
    }

    proptest! {
        #[test]
        fn quantiles_rise_with_p_and_stay_inside(
            values in prop::collection::vec(-1e9..1e9_f64, 1..50),
            p in 0.0..=1.0_f64,
            q in 0.0..=1.0_f64,
        ) {
            let sorted = sorted(&values);
            let (low, high) = (p.min(q), p.max(q));
            let (a, b) = (quantile_of_sorted(&sorted, low).unwrap(), quantile_of_sorted(&sorted, high).unwrap());
            prop_assert!(a <= b && sorted[0] <= a && b <= sorted[sorted.len() - 1]);
        }

        #[test]
        fn the_median_is_symmetric(values in prop::collection::vec(-1e9..1e9_f64, 1..50)) {
            let mirrored: Vec<f64> = values.iter().map(|x| -x).collect();
            prop_assert!((median(&values).unwrap() + median(&mirrored).unwrap()).abs() <= 1e-6);
        }
    }
}
