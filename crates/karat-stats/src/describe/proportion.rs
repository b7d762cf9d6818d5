//! Intervals of a pass rate (Brown, Cai & DasGupta 2001).

use crate::interval::{Interval, Level, Method};
use crate::numeric::special::Beta;

/// `successes` among `n` independent trials. Both may be fractional: an effective sample size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proportion {
    successes: f64,
    n: f64,
}

impl Proportion {
    /// `None` unless 0 ≤ `successes` ≤ `n` and 0 < `n` < ∞: no trials, no rate.
    pub fn new(successes: f64, n: f64) -> Option<Self> {
        (n > 0.0 && n.is_finite() && (0.0..=n).contains(&successes)).then_some(Self { successes, n })
    }

    /// The observed rate.
    pub fn rate(&self) -> f64 {
        self.successes / self.n
    }

    /// The number of trials.
    pub fn n(&self) -> f64 {
        self.n
    }

    /// Wilson's score interval, the default for every pass rate: it neither collapses nor
    /// overshoots at 0 and 1.
    ///
    /// (k + z²/2)/(n + z²) ± z/(n + z²)·√(k(n − k)/n + z²/4).
    ///
    /// ```
    /// use karat_stats::{describe::Proportion, interval::Level};
    ///
    /// let interval = Proportion::new(8.0, 10.0).map(|rate| rate.wilson(Level::P95));
    /// let shown = interval.map(|interval| format!("{:.3} to {:.3}", interval.lo, interval.hi));
    /// assert_eq!(shown.as_deref(), Some("0.490 to 0.943"));
    /// // Never a failure is not proof that there is none.
    /// let all = Proportion::new(20.0, 20.0).map(|rate| rate.wilson(Level::P95).lo);
    /// assert!(all.is_some_and(|lo| lo > 0.83 && lo < 0.84));
    /// ```
    pub fn wilson(&self, level: Level) -> Interval {
        self.wilson_with_quantile(level.z(), level, Method::Wilson)
    }

    /// Wilson's interval of clustered trials, `n` being their effective number: t_{df} in place of z, with
    /// df = clusters − 1, since the effective number is itself an estimate from so few clusters. `None` unless `df` is
    /// positive.
    pub fn cluster_wilson(&self, df: f64, level: Level) -> Option<Interval> {
        Some(self.wilson_with_quantile(level.t(df)?, level, Method::ClusterWilson))
    }

    /// Wilson's interval with a quantile of the normal or t distribution.
    fn wilson_with_quantile(&self, quantile: f64, level: Level, method: Method) -> Interval {
        let (k, n) = (self.successes, self.n);
        let square = quantile * quantile;
        let centre = (k + 0.5 * square) / (n + square);
        let half = quantile / (n + square) * (k * (n - k) / n + 0.25 * square).sqrt();
        let mut interval = Interval::around(centre, half, level, method).clip(0.0, 1.0);
        if self.has_no_successes() {
            interval.lo = 0.0;
        }
        if self.has_only_successes() {
            interval.hi = 1.0;
        }
        interval
    }

    /// Clopper-Pearson: coverage is guaranteed, at the price of width. For safety gates.
    pub fn clopper_pearson(&self, level: Level) -> Interval {
        let (k, n) = (self.successes, self.n);
        let tail = 0.5 * level.alpha();
        let lo = Beta::new(k, n - k + 1.0).map_or(0.0, |beta| beta.quantile(tail));
        let hi = Beta::new(k + 1.0, n - k).map_or(1.0, |beta| beta.quantile(1.0 - tail));
        Interval { lo, hi, level, method: Method::ClopperPearson }
    }

    /// Agresti-Coull: Wald around Wilson's centre.
    pub fn agresti_coull(&self, level: Level) -> Interval {
        let z = level.z();
        let n = self.n + z * z;
        let centre = (self.successes + 0.5 * z * z) / n;
        let half = z * (centre * (1.0 - centre) / n).sqrt();
        Interval::around(centre, half, level, Method::AgrestiCoull).clip(0.0, 1.0)
    }

    /// Jeffreys: equal tails of Beta(k + ½, n − k + ½).
    pub fn jeffreys(&self, level: Level) -> Interval {
        let tail = 0.5 * level.alpha();
        let bound = |p: f64, otherwise: f64| {
            let posterior = Beta::new(self.successes + 0.5, self.n - self.successes + 0.5);
            posterior.map_or(otherwise, |beta| beta.quantile(p))
        };
        Interval { lo: bound(tail, 0.0), hi: bound(1.0 - tail, 1.0), level, method: Method::Jeffreys }
    }

    /// Wald, p̂ ± z√(p̂(1 − p̂)/n). For comparison only: it covers 64 % at p = 0.95, n = 20.
    pub fn wald(&self, level: Level) -> Interval {
        let p = self.rate();
        let half = level.z() * (p * (1.0 - p) / self.n).sqrt();
        Interval::around(p, half, level, Method::Wald).clip(0.0, 1.0)
    }

    fn has_no_successes(&self) -> bool {
        self.successes <= 0.0
    }

    fn has_only_successes(&self) -> bool {
        self.successes >= self.n
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Construct = fn(&Proportion, Level) -> Interval;
    const ALL: [Construct; 5] = [
        Proportion::wilson,
        Proportion::clopper_pearson,
        Proportion::agresti_coull,
        Proportion::jeffreys,
        Proportion::wald,
    ];

    #[test]
    fn no_trials_no_rate() {
        assert_eq!(Proportion::new(0.0, 0.0), None);
        assert_eq!(Proportion::new(3.0, 2.0), None);
        assert_eq!(Proportion::new(f64::NAN, 2.0), None);
    }

    #[test]
    fn wilson_does_not_collapse_at_the_ends() {
        let none = Proportion::new(0.0, 12.0).unwrap().wilson(Level::P95);
        assert!(none.lo <= 0.0 && none.hi > 0.2);
    }

    proptest! {
        #[test]
        fn every_interval_lies_in_the_unit_range_and_mirrors(n in 1..400_u32, share in 0.0..=1.0_f64) {
            let n = f64::from(n);
            let k = (share * n).round();
            for construct in ALL {
                let a = construct(&Proportion::new(k, n).unwrap(), Level::P95);
                let b = construct(&Proportion::new(n - k, n).unwrap(), Level::P95);
                prop_assert!(0.0 <= a.lo && a.lo <= a.hi && a.hi <= 1.0, "{:?}", a);
                // Jeffreys, an equal-tailed posterior, leaves out a rate of exactly 0 or 1.
                let includes_rate = a.lo <= k / n + 1e-12 && k / n <= a.hi + 1e-12;
                prop_assert!(includes_rate || a.method == Method::Jeffreys, "{:?}", a);
                prop_assert!((a.lo - (1.0 - b.hi)).abs() < 1e-10, "{:?} {:?}", a, b);
            }
        }

        #[test]
        fn guaranteed_coverage_is_wider_than_the_bayesian_twin(k in 0..200_u32, failures in 1..200_u32) {
            let p = Proportion::new(f64::from(k), f64::from(k + failures)).unwrap();
            prop_assert!(p.clopper_pearson(Level::P95).half_width() >= p.jeffreys(Level::P95).half_width());
        }
    }
}
