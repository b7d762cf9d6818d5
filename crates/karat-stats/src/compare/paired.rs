//! Paired differences and their t test.

use crate::describe::{is_rounding, magnitude, mean, standard_deviation, t_interval};
use crate::interval::{Interval, Level};
use crate::numeric::input::{InputError, same_length};
use crate::numeric::special::StudentT;

/// Differences of the items that both systems have a value for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Paired {
    /// candidate − baseline, in item order.
    pub differences: Vec<f64>,
    /// Items that were dropped because one of the two values is missing.
    pub dropped: usize,
}

/// Pairs item by item, dropping pairs with a missing value.
///
/// ```
/// use karat_stats::compare::pair;
///
/// let paired = pair(&[Some(0.5), Some(1.0), None], &[Some(0.75), None, Some(1.0)])?;
/// assert_eq!((paired.differences, paired.dropped), (vec![0.25], 2));
/// # Ok::<(), karat_stats::numeric::input::InputError>(())
/// ```
///
/// # Errors
/// When the lengths differ.
pub fn pair(baseline: &[Option<f64>], candidate: &[Option<f64>]) -> Result<Paired, InputError> {
    same_length("baseline", baseline.len(), "candidate", candidate.len())?;
    let both = baseline.iter().zip(candidate).filter_map(|(b, c)| Some(((*b)?, (*c)?)));
    let (before, now): (Vec<f64>, Vec<f64>) = both.unzip();
    Ok(Paired { differences: differences(&now, &before), dropped: baseline.len() - before.len() })
}

/// candidate − baseline of each pair, up to the shorter slice.
///
/// Decimal fractions miss their difference by the last digits of what they are taken from: 0.9 − 0.6 is not 0.8 − 0.5.
/// Differences that only this tells apart are made equal, and those that only this tells from 0 are 0, so that no test
/// takes rounding for variation.
pub fn differences(candidate: &[f64], baseline: &[f64]) -> Vec<f64> {
    let difference = |(c, b): (&f64, &f64)| {
        let size = c.abs().max(b.abs());
        (if is_rounding((c - b).abs(), size) { 0.0 } else { c - b }, size)
    };
    let found: Vec<(f64, f64)> = candidate.iter().zip(baseline).map(difference).collect();
    let is_alike = |(first, of): &(f64, f64)| {
        found.iter().all(|(d, size)| (d * first > 0.0) && is_rounding((d - first).abs(), size.max(*of)))
    };
    match found.first().filter(|first| is_alike(first)) {
        Some((first, _)) => vec![*first; found.len()],
        None => found.into_iter().map(|(difference, _)| difference).collect(),
    }
}

/// The paired t test.
///
/// Without any variance the statistic is a limit: all differences 0 give t = 0 and p = 1; a
/// constant non-zero difference gives t = ±∞ and p = 0, which `degenerate` tells not to show (quote
/// the sign-flip p, 2/2ⁿ, instead).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedT {
    /// Number of pairs.
    pub n: usize,
    /// Mean difference.
    pub mean: Option<f64>,
    /// Standard deviation of the differences.
    pub standard_deviation: Option<f64>,
    /// s_d/√n.
    pub standard_error: Option<f64>,
    /// d̄ / SE; infinite for a constant non-zero difference.
    pub t: Option<f64>,
    /// n − 1.
    pub df: Option<f64>,
    /// P(|T| ≥ |t|).
    pub p_two_sided: Option<f64>,
    /// Against the candidate being lower.
    pub p_less: Option<f64>,
    /// Against the candidate being higher.
    pub p_greater: Option<f64>,
    /// d̄ ± t_{n−1}·SE.
    pub interval: Option<Interval>,
    /// d_z = d̄/s_d; `None` when the differences do not vary.
    pub cohen_dz: Option<f64>,
    /// The differences do not vary.
    pub degenerate: bool,
}

/// Tests whether the mean difference is 0; everything but the mean is `None` for fewer than two.
pub fn paired_t(differences: &[f64], level: Level) -> PairedT {
    let n = differences.len();
    let centre = mean(differences);
    let sd = standard_deviation(differences);
    let se = sd.map(|sd| sd / (n as f64).sqrt());
    let df = se.map(|_| n as f64 - 1.0);
    let degenerate = se.is_some_and(|se| is_rounding(se, magnitude(differences)));
    let t = centre.zip(se).map(|(mean, se)| t_statistic(mean, se));
    let student = df.and_then(StudentT::new);
    let p = |tail: fn(&StudentT, f64) -> f64| Some(tail(&student?, t?));
    let identical = degenerate && centre.is_some_and(|m| m.abs() <= 0.0);
    let one_sided = |p: Option<f64>| if identical { Some(1.0) } else { p };
    PairedT {
        n,
        mean: centre,
        standard_deviation: sd,
        standard_error: se,
        t,
        df,
        p_two_sided: p(StudentT::two_sided),
        p_less: one_sided(p(StudentT::cdf)),
        p_greater: one_sided(p(StudentT::sf)),
        interval: centre.zip(se).zip(df).and_then(|((m, se), df)| t_interval(m, se, df, level)),
        cohen_dz: centre.zip(sd).filter(|_| !degenerate).map(|(m, sd)| m / sd).filter(|d| d.is_finite()),
        degenerate,
    }
}

/// mean / se with the limits 0/0 = 0 and x/0 = ±∞.
pub(super) fn t_statistic(mean: f64, se: f64) -> f64 {
    if mean.abs() <= 0.0 {
        0.0
    } else if se <= 0.0 {
        f64::INFINITY.copysign(mean)
    } else {
        mean / se
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_pair_with_a_missing_value_is_dropped_and_counted() {
        let paired = pair(&[Some(0.5), None, Some(1.0)], &[Some(0.75), Some(1.0), None]).unwrap();
        assert_eq!(paired, Paired { differences: vec![0.25], dropped: 2 });
        assert!(pair(&[None], &[]).is_err());
    }

    #[test]
    fn no_difference_at_all_is_p_1_and_degenerate() {
        let test = paired_t(&[0.0; 6], Level::P95);
        assert_eq!((test.t, test.p_two_sided, test.p_less), (Some(0.0), Some(1.0), Some(1.0)));
        assert!(test.degenerate && test.cohen_dz.is_none());
    }

    /// Invariant: a constant difference is recognised as constant although its doubles differ in the last place.
    #[test]
    fn rounding_is_no_variation() {
        let (now, before) = ([0.9, 0.8, 5.3, 0.3], [0.6, 0.5, 5.0, 0.0]);
        assert!(paired_t(&differences(&now, &before), Level::P95).degenerate);
        assert_eq!(differences(&[0.1 + 0.2, 1.0], &[0.3, 0.5]), [0.0, 0.5]);
        assert_eq!(differences(&[1.0, 0.0], &[0.5, 1.0]), [0.5, -1.0]);
    }

    /// Invariant: squares that underflow are not a spread of 0.
    #[test]
    fn tiny_differences_vary() {
        let test = paired_t(&[1e-200, -2e-200, 3e-200, 1e-200], Level::P95);
        assert!(!test.degenerate && test.p_two_sided.is_some_and(|p| p > 0.4), "{test:?}");
    }

    proptest! {
        #[test]
        fn swapping_the_systems_mirrors_the_test(d in prop::collection::vec(-1.0..1.0_f64, 2..40)) {
            let mirrored: Vec<f64> = d.iter().map(|x| -x).collect();
            let (a, b) = (paired_t(&d, Level::P95), paired_t(&mirrored, Level::P95));
            prop_assert!((a.t.unwrap() + b.t.unwrap()).abs() < 1e-9);
            prop_assert!((a.p_two_sided.unwrap() - b.p_two_sided.unwrap()).abs() < 1e-12);
            prop_assert!((a.p_less.unwrap() - b.p_greater.unwrap()).abs() < 1e-12);
            prop_assert!((a.interval.unwrap().lo + b.interval.unwrap().hi).abs() < 1e-12);
        }

        #[test]
        fn the_interval_excludes_0_exactly_when_p_is_below_alpha(d in prop::collection::vec(-1.0..1.0_f64, 2..40)) {
            let test = paired_t(&d, Level::P95);
            let p = test.p_two_sided.unwrap();
            prop_assert!((0.0..=1.0).contains(&p));
            prop_assume!((p - 0.05).abs() > 1e-9);
            prop_assert_eq!(test.interval.unwrap().contains(0.0), p > 0.05);
        }
    }
}
