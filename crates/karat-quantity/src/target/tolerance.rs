//! Tolerances: when a number is near enough.

use rust_decimal::Decimal;

use crate::target::{TargetError, decimal};

/// True if `|actual − expected| ≤ rel·|expected|` or `≤ abs`: the expected value is the measure,
/// and the two bounds are never added.
///
/// ```
/// use karat_quantity::within_tolerance;
///
/// assert!(within_tolerance(101.0, 100.0, 0.01, 0.0));
/// assert!(!within_tolerance(0.000001, 0.0, 0.01, 0.0));
/// ```
#[must_use]
pub fn within_tolerance(actual: f64, expected: f64, rel: f64, abs: f64) -> bool {
    let difference = (actual - expected).abs();
    difference <= rel * expected.abs() || difference <= abs
}

/// Python's `math.isclose`: symmetric, relative to the larger of both. For graders prefer
/// [`within_tolerance`].
///
/// ```
/// use karat_quantity::is_close;
///
/// assert!(is_close(100.0, 101.0, 0.01, 0.0));
/// assert!(!is_close(0.0, 1e-12, 1e-9, 0.0));
/// ```
#[must_use]
pub fn is_close(a: f64, b: f64, rel: f64, abs: f64) -> bool {
    let difference = (a - b).abs();
    difference <= rel * a.abs().max(b.abs()) || difference <= abs
}

/// The allowed distance of a number from the expected one. Without any bound the comparison is exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tolerance {
    rel: Option<Decimal>,
    abs: Option<Decimal>,
}

impl Tolerance {
    /// Either bound suffices: `rel` as a share of the expected value (0.01 is 1 %), `abs` in the
    /// expected value's own unit.
    ///
    /// # Errors
    /// When a bound is negative, infinite or not a number.
    pub fn new(rel: Option<f64>, abs: Option<f64>) -> Result<Self, TargetError> {
        let bound = |bound: Option<f64>| {
            let bound = bound.map(decimal).transpose()?;
            match bound {
                Some(negative) if negative.is_sign_negative() && !negative.is_zero() => {
                    Err(TargetError::Tolerance(negative))
                }
                bound => Ok(bound),
            }
        };
        Ok(Self { rel: bound(rel)?, abs: bound(abs)? })
    }

    /// Only a relative bound.
    ///
    /// ```
    /// use karat_quantity::Tolerance;
    ///
    /// assert!(Tolerance::relative(0.01).is_ok());
    /// assert!(Tolerance::relative(-0.01).is_err());
    /// ```
    ///
    /// # Errors
    /// As [`Tolerance::new`].
    pub fn relative(rel: f64) -> Result<Self, TargetError> {
        Self::new(Some(rel), None)
    }

    /// Only an absolute bound.
    ///
    /// # Errors
    /// As [`Tolerance::new`].
    pub fn absolute(abs: f64) -> Result<Self, TargetError> {
        Self::new(None, Some(abs))
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.rel.is_none() && self.abs.is_none()
    }

    /// True if `value` is near enough to `expected`; `worth` is what one of the expected value's
    /// unit is worth in base units.
    pub(crate) fn allows(&self, value: Decimal, expected: Decimal, worth: Decimal) -> bool {
        let Some(difference) = value.checked_sub(expected).map(|d| d.abs()) else {
            return false;
        };
        let within = |bound: Option<Decimal>| bound.is_some_and(|bound| difference <= bound);
        within(self.rel.and_then(|rel| rel.checked_mul(expected.abs())))
            || within(self.abs.and_then(|abs| abs.checked_mul(worth)))
    }
}
