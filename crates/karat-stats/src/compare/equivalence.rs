//! Non-inferiority and equivalence of the candidate, with a margin set before looking.

use super::paired::t_statistic;
use crate::describe::{mean, standard_error};
use crate::interval::Level;
use crate::numeric::special::StudentT;

/// One-sided t tests of the mean difference against a margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NonInferiority {
    /// Mean difference.
    pub mean: f64,
    /// (d̄ + margin)/SE; infinite when the differences do not vary.
    pub t: f64,
    /// Against "the candidate is worse by the margin or more".
    pub p: f64,
    /// Against "the two differ by the margin or more" in either direction (TOST): the larger of the
    /// two one-sided p-values.
    pub p_equivalence: f64,
    /// The one-sided lower confidence bound of the difference, at 1 − α.
    pub lower_bound: f64,
    /// "No regression": p < α, that is, the lower bound lies above −margin.
    pub non_inferior: bool,
}

/// Tests whether the candidate is worse by less than `margin` ≥ 0, at error probability α = 1 − `level`. A margin of 0 is
/// the one-sided test of superiority, under which nothing is equivalent. `None` for fewer than two differences or a margin
/// that is negative or not finite.
///
/// ```
/// use karat_stats::{compare::non_inferiority, interval::Level};
///
/// // Slightly worse on average, and by much less than the margin.
/// let differences = [-0.02, 0.01, -0.01, 0.0, 0.02, -0.03, 0.01, -0.01];
/// let found = non_inferiority(&differences, 0.05, Level::P95);
/// assert!(found.is_some_and(|found| found.non_inferior && found.lower_bound > -0.05));
/// let strict = non_inferiority(&differences, 0.005, Level::P95);
/// assert!(strict.is_some_and(|found| !found.non_inferior));
/// ```
pub fn non_inferiority(differences: &[f64], margin: f64, level: Level) -> Option<NonInferiority> {
    if !(margin >= 0.0 && margin.is_finite()) {
        return None;
    }
    let (mean, se) = (mean(differences)?, standard_error(differences)?);
    let student = StudentT::new(differences.len() as f64 - 1.0)?;
    let t = t_statistic(mean + margin, se);
    let p = student.sf(t);
    let p_above = student.cdf(t_statistic(mean - margin, se));
    Some(NonInferiority {
        mean,
        t,
        p,
        p_equivalence: p.max(p_above),
        lower_bound: mean - student.upper_quantile(level.alpha()) * se,
        non_inferior: p < level.alpha(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_difference_or_no_margin_is_undefined() {
        assert_eq!(non_inferiority(&[0.1], 0.1, Level::P95), None);
        assert_eq!(non_inferiority(&[0.1, 0.2], -0.1, Level::P95), None);
        assert_eq!(non_inferiority(&[0.1, 0.2], f64::NAN, Level::P95), None);
    }

    #[test]
    fn a_margin_of_0_asks_for_superiority() {
        let d = [0.3, -0.1, 0.4, 0.2, 0.0];
        let test = non_inferiority(&d, 0.0, Level::P95).unwrap();
        let plain = crate::compare::paired_t(&d, Level::P95);
        assert_eq!((Some(test.t), Some(test.p)), (plain.t, plain.p_greater));
        assert!(test.p_equivalence >= 0.5);
    }

    proptest! {
        #[test]
        fn the_verdict_is_that_of_the_lower_bound(
            d in prop::collection::vec(-1.0..1.0_f64, 2..40),
            margin in 0.01..0.5_f64,
        ) {
            let test = non_inferiority(&d, margin, Level::P95).unwrap();
            prop_assume!((test.p - 0.05).abs() > 1e-9);
            prop_assert_eq!(test.non_inferior, test.lower_bound > -margin);
            prop_assert!(test.p_equivalence >= test.p);
        }
    }
}
