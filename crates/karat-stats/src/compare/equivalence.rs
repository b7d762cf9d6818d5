//! Non-inferiority and equivalence of the candidate, with a margin set before looking.

use super::paired::t_statistic;
use crate::{
    describe::{mean, standard_error},
    interval::Level,
    special::StudentT,
};

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

/// Tests whether the candidate is worse by at most `margin` > 0, at error probability α = 1 −
/// `level`. `None` for fewer than two differences or a margin that is not positive and finite.
pub fn non_inferiority(differences: &[f64], margin: f64, level: Level) -> Option<NonInferiority> {
    if !(margin > 0.0 && margin.is_finite()) {
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
        assert_eq!(non_inferiority(&[0.1, 0.2], 0.0, Level::P95), None);
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
