//! The difference of two figures of different samples.

use crate::describe::{Proportion, t_interval};
use crate::interval::{Interval, Level, Method};

/// A rate of independent trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateSide {
    /// The rate.
    pub rate: f64,
    /// Its number of trials, or their effective number.
    pub n: f64,
    /// Degrees of freedom of clusters; `None` without.
    pub df: Option<f64>,
}

impl RateSide {
    fn wilson(&self, level: Level) -> Option<Interval> {
        let proportion = Proportion::new((self.rate * self.n).clamp(0.0, self.n), self.n)?;
        match self.df {
            Some(df) => proportion.cluster_wilson(df, level),
            None => Some(proportion.wilson(level)),
        }
    }
}

/// A mean with its precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanSide {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Degrees of freedom: n − 1, or those of clusters.
    pub df: f64,
}

/// A difference, second − first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The difference.
    pub value: f64,
    /// Its standard error; `None` for rates.
    pub standard_error: Option<f64>,
    /// Degrees of freedom; `None` for rates.
    pub df: Option<f64>,
    /// Its interval.
    pub interval: Interval,
}

/// The difference of two rates by the ends of their own Wilson intervals (Newcombe 1998, method 10):
/// d − √((p₂ − l₂)² + (u₁ − p₁)²) to d + √((u₂ − p₂)² + (p₁ − l₁)²). `None` for no trials.
pub fn newcombe(first: RateSide, second: RateSide, level: Level) -> Option<Difference> {
    let (a, b) = (first.wilson(level)?, second.wilson(level)?);
    let value = second.rate - first.rate;
    let lo = value - (second.rate - b.lo).hypot(a.hi - first.rate);
    let hi = value + (b.hi - second.rate).hypot(first.rate - a.lo);
    let interval = Interval { lo, hi, level, method: Method::Newcombe }.clip(-1.0, 1.0);
    Some(Difference { value, standard_error: None, df: None, interval })
}

/// The difference of two means with Welch's degrees of freedom, from each side's own: (V₁ + V₂)²/(V₁²/df₁ + V₂²/df₂).
/// `None` where neither side varies, or one has no degrees of freedom.
pub fn welch(first: MeanSide, second: MeanSide, level: Level) -> Option<Difference> {
    let (a, b) = (first.standard_error.powi(2), second.standard_error.powi(2));
    let df = (a + b).powi(2) / (a * a / first.df + b * b / second.df);
    let (value, se) = (second.mean - first.mean, (a + b).sqrt());
    let interval = t_interval(value, se, df, level).filter(|_| se > 0.0 && df.is_finite())?;
    let interval = Interval { method: Method::Welch, ..interval };
    Some(Difference { value, standard_error: Some(se), df: Some(df), interval })
}
