//! The interval of a mean.

use super::{is_rounding, magnitude, mean, standard_error};
use crate::interval::{Interval, Level, Method};

/// A mean with what is known about its precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanEstimate {
    /// Number of values.
    pub n: usize,
    /// The mean; `None` for no values.
    pub mean: Option<f64>,
    /// s/√n; `None` for fewer than two values.
    pub standard_error: Option<f64>,
    /// Degrees of freedom n − 1; `None` for fewer than two values.
    pub df: Option<f64>,
    /// The interval; `None` for fewer than two values.
    pub interval: Option<Interval>,
    /// The standard error is 0 but for rounding, so the interval has collapsed to the point and says nothing.
    pub degenerate: bool,
}

/// x̄ ± t_{n−1}·s/√n: the default for means. Not for pass rates: see [`super::Proportion`].
///
/// Unclipped; assumes independent items and a roughly normal mean.
///
/// ```
/// use karat_stats::{describe::mean_with_t_interval, interval::Level};
///
/// let found = mean_with_t_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], Level::P95);
/// let shown = found.interval.map(|interval| format!("{:.3} to {:.3}", interval.lo, interval.hi));
/// assert_eq!((found.mean, shown.as_deref()), (Some(3.0), Some("1.037 to 4.963")));
/// // One value has a mean and no precision.
/// assert_eq!(mean_with_t_interval(&[1.0], Level::P95).interval, None);
/// ```
pub fn mean_with_t_interval(values: &[f64], level: Level) -> MeanEstimate {
    estimate(values, level, Method::StudentT)
}

/// x̄ ± z·s/√n, the large-sample interval.
pub fn mean_with_normal_interval(values: &[f64], level: Level) -> MeanEstimate {
    estimate(values, level, Method::Normal)
}

/// centre ± t_{df}·se; `None` unless `df` is positive.
pub fn t_interval(centre: f64, se: f64, df: f64, level: Level) -> Option<Interval> {
    Some(Interval::around(centre, level.t(df)? * se, level, Method::StudentT))
}

fn estimate(values: &[f64], level: Level, method: Method) -> MeanEstimate {
    let (mean, se) = (mean(values), standard_error(values));
    let df = se.map(|_| values.len() as f64 - 1.0);
    let half_width = se.zip(df).and_then(|(se, df)| {
        let factor = if method == Method::Normal { Some(level.z()) } else { level.t(df) };
        Some(factor? * se)
    });
    MeanEstimate {
        n: values.len(),
        mean,
        standard_error: se,
        df,
        interval: mean.zip(half_width).map(|(m, half)| Interval::around(m, half, level, method)),
        degenerate: se.is_some_and(|se| is_rounding(se, magnitude(values))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_value_gives_no_interval() {
        let one = mean_with_t_interval(&[0.4], Level::P95);
        assert_eq!((one.mean, one.interval, one.degenerate), (Some(0.4), None, false));
    }

    #[test]
    fn equal_values_are_marked_degenerate() {
        let estimate = mean_with_t_interval(&[0.1; 7], Level::P95);
        assert!(estimate.degenerate);
        assert_eq!(estimate.interval.map(|i| i.half_width()), Some(0.0));
    }

    proptest! {
        #[test]
        fn the_interval_follows_shift_and_scale_and_widens_with_the_level(
            values in prop::collection::vec(-100.0..100.0_f64, 2..40),
            shift in -1e3..1e3_f64,
            scale in 0.1..10.0_f64,
        ) {
            let moved: Vec<f64> = values.iter().map(|x| scale * x + shift).collect();
            let a = mean_with_t_interval(&values, Level::P95).interval.unwrap();
            let b = mean_with_t_interval(&moved, Level::P95).interval.unwrap();
            prop_assert!((scale * a.lo + shift - b.lo).abs() < 1e-7 * (1.0 + b.lo.abs()));
            prop_assert!((scale * a.hi + shift - b.hi).abs() < 1e-7 * (1.0 + b.hi.abs()));
            let wide = mean_with_t_interval(&values, Level::P99).interval.unwrap();
            prop_assert!(wide.half_width() >= a.half_width());
            let z = mean_with_normal_interval(&values, Level::P95).interval.unwrap();
            prop_assert!(z.half_width() <= a.half_width());
        }
    }
}
