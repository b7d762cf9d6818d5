//! McNemar's test of two pass rates on the same items.

use crate::interval::{Interval, Level, Method};
use crate::numeric::special::{Binomial, ChiSquared, boundary, two_sided_p};

/// A critical value so little below a score leaves it out.
const JUST_BELOW: f64 = 1.0 - 1e-6;

/// Below so small a share of the items a count is 0 but for rounding.
const ROUNDING: f64 = 1e-14;

/// The results of two systems on the same pass/fail items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PairedOutcomes {
    /// Items that both pass.
    pub both_pass: u64,
    /// Items that only the baseline passes (b).
    pub only_baseline: u64,
    /// Items that only the candidate passes (c).
    pub only_candidate: u64,
    /// Items that both fail.
    pub both_fail: u64,
}

/// McNemar's test. Decide on `p_mid`; the exact test is conservative (it rejects 3 % of A/A runs at
/// α = 0.05), so show it beside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct McNemar {
    /// Items on which the two differ, b + c.
    pub discordant: u64,
    /// 2·P(X ≤ min(b, c)) for X ~ Binomial(b + c, ½), at most 1; 1 without discordance.
    pub p_exact: f64,
    /// Mid-p (Fagerland, Lydersen & Laake 2013): the exact p minus half the probability of the
    /// observed table on each side; 1 − P(X = b) when b = c.
    pub p_mid: f64,
    /// (b − c)²/(b + c); `None` without discordance.
    pub chi2: Option<f64>,
    /// P(χ²₁ > chi2).
    pub p_chi2: Option<f64>,
    /// (|b − c| − 1)²/(b + c), Edwards' correction; 1/(b + c) when b = c.
    pub chi2_corrected: Option<f64>,
    /// P(χ²₁ > chi2_corrected).
    pub p_chi2_corrected: Option<f64>,
    /// Pass rate of the candidate − pass rate of the baseline; `None` for no items.
    pub difference: Option<f64>,
}

impl PairedOutcomes {
    /// Counts `(baseline passed, candidate passed)`.
    pub fn count(outcomes: impl IntoIterator<Item = (bool, bool)>) -> Self {
        let mut counts = Self::default();
        for outcome in outcomes {
            *match outcome {
                (true, true) => &mut counts.both_pass,
                (true, false) => &mut counts.only_baseline,
                (false, true) => &mut counts.only_candidate,
                (false, false) => &mut counts.both_fail,
            } += 1;
        }
        counts
    }

    /// Tests whether the two pass rates are equal.
    pub fn mcnemar(&self) -> McNemar {
        let (b, c) = (self.only_baseline, self.only_candidate);
        let discordant = b + c;
        let total = discordant + self.both_pass + self.both_fail;
        let gap = b.abs_diff(c) as f64;
        let statistic = |gap: f64| (discordant > 0).then(|| gap * gap / discordant as f64);
        let p_value = |chi2: Option<f64>| Some(ChiSquared::new(1.0)?.sf(chi2?));
        let (chi2, chi2_corrected) = (statistic(gap), statistic(gap - 1.0));
        McNemar {
            discordant,
            p_exact: two_sided_p(b, discordant),
            p_mid: mid_p(b, c),
            chi2,
            p_chi2: p_value(chi2),
            chi2_corrected,
            p_chi2_corrected: p_value(chi2_corrected),
            difference: (total > 0).then(|| (c as f64 - b as f64) / total as f64),
        }
    }

    /// The score interval of the difference of the two rates (Tango 1998): all differences that the score test does not
    /// reject, within −1 and 1 and never a point. It leaves out 0 exactly where the mid-p is at most α: where the score test
    /// is of another opinion on that, its critical value gives way. `None` for no items.
    pub fn interval(&self, level: Level) -> Option<Interval> {
        let difference = self.mcnemar().difference?;
        let critical = self.critical(level);
        let rejected = |shift: f64| self.score(shift).abs() > critical;
        let last = |outside: f64| if rejected(outside) { boundary(outside, difference, rejected) } else { outside };
        let end = |outside: f64| Some(last(outside)).filter(|end| end.abs() > ROUNDING).unwrap_or_default();
        Some(Interval { lo: end(-1.0), hi: end(1.0), level, method: Method::Score })
    }

    /// z_{1−α/2}, or as far from it as the score of no difference must be on the side that the mid-p says.
    fn critical(&self, level: Level) -> f64 {
        let (z, of_none) = (level.z(), self.score(0.0).abs());
        match self.mcnemar().p_mid <= level.alpha() {
            _ if self.only_baseline == self.only_candidate => z,
            true => z.min(of_none * JUST_BELOW),
            false => z.max(of_none),
        }
    }

    /// Tango's score of a true difference δ: (c − b − nδ)/√(n(2q + δ(1 − δ))), where q is the most likely share of items that
    /// only the baseline passes, given δ. At δ = 0 that is McNemar's (c − b)/√(b + c).
    fn score(&self, shift: f64) -> f64 {
        let (b, c) = (self.only_baseline as f64, self.only_candidate as f64);
        let n = b + c + (self.both_pass + self.both_fail) as f64;
        let beyond = c - b - n * shift;
        // 2n·q² + linear·q + constant = 0, by the form without cancellation.
        let (linear, constant) = ((2.0 * n - c + b) * shift - (b + c), -b * shift * (1.0 - shift));
        let root = (linear * linear - 8.0 * n * constant).max(0.0).sqrt();
        let q = if linear > 0.0 { -2.0 * constant / (linear + root) } else { (root - linear) / (4.0 * n) };
        let variance = n * (2.0 * q + shift * (1.0 - shift));
        if beyond.abs() <= ROUNDING * n {
            0.0
        } else if variance <= ROUNDING * n {
            f64::INFINITY.copysign(beyond)
        } else {
            beyond / variance.sqrt()
        }
    }
}

fn mid_p(b: u64, c: u64) -> f64 {
    let smaller = b.min(c);
    let Some(coin) = Binomial::new(b + c, 0.5).filter(|_| b + c > 0) else {
        return 1.0;
    };
    if b == c {
        return 1.0 - coin.pmf(b);
    }
    let below = if smaller == 0 { 0.0 } else { coin.cdf(smaller - 1) };
    2.0 * below + coin.pmf(smaller)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_discordance_p_is_1() {
        let test = PairedOutcomes { both_pass: 3, both_fail: 2, ..Default::default() }.mcnemar();
        assert_eq!((test.p_exact, test.p_mid, test.chi2, test.difference), (1.0, 1.0, None, Some(0.0)));
        assert_eq!(PairedOutcomes::default().mcnemar().difference, None);
    }

    #[test]
    fn outcomes_are_counted() {
        let outcomes = [(true, true), (true, false), (false, true), (false, true), (false, false)];
        let counts = PairedOutcomes::count(outcomes);
        assert_eq!((counts.both_pass, counts.only_baseline, counts.only_candidate, counts.both_fail), (1, 1, 2, 1));
    }

    /// BY-01: no interval of a difference of rates leaves −1 to 1. Reference: bisection of Tango's score in Python.
    #[test]
    fn the_interval_stays_within_what_is_possible() {
        let interval = |n: u64, b: u64, c: u64| {
            let counts = PairedOutcomes { only_baseline: b, only_candidate: c, both_pass: n - b - c, both_fail: 0 };
            counts.interval(Level::P95).map(|it| (it.lo, it.hi)).unwrap()
        };
        for ((n, b, c), lo, hi) in [
            ((40, 40, 0), -1.0000000, -0.8247568),
            ((5, 5, 0), -1.0000000, -0.1310351),
            ((40, 0, 1), -0.0648121, 0.1288137),
            ((40, 3, 3), -0.1402468, 0.1402468),
            ((60, 3, 12), 0.0263120, 0.2797024),
            ((10, 8, 0), -0.9433178, -0.3004410),
            ((100, 0, 95), 0.8778627, 0.9784563),
        ] {
            let found = interval(n, b, c);
            assert!((found.0 - lo).abs() < 1e-6 && (found.1 - hi).abs() < 1e-6, "{b} and {c} of {n}: {found:?}");
        }
        // The mid-p of 0 and 4 is 0.0625, the score's p below 0.05: the interval reaches 0 and no further.
        let reaching = interval(10, 0, 4);
        assert!(reaching.0.abs() <= 0.0 && (reaching.1 - 0.6920).abs() < 1e-4, "{reaching:?}");
    }

    proptest! {
        /// BY-01: interval and p-value never contradict each other.
        #[test]
        fn the_interval_leaves_out_0_where_the_mid_p_is_below_alpha(b in 0..3000_u64, c in 0..3000_u64, rest in 0..500_u64) {
            let counts = PairedOutcomes { only_baseline: b, only_candidate: c, both_pass: rest, both_fail: 1 };
            let test = counts.mcnemar();
            for level in [Level::P90, Level::P95, Level::P99] {
                prop_assume!((test.p_mid - level.alpha()).abs() > 1e-9);
                let interval = counts.interval(level).unwrap();
                prop_assert!(-1.0 <= interval.lo && interval.lo < interval.hi && interval.hi <= 1.0, "{:?}", interval);
                prop_assert!(interval.contains(test.difference.unwrap()));
                prop_assert_eq!(interval.contains(0.0), test.p_mid > level.alpha(), "{:?} {:?}", interval, test);
            }
        }

        #[test]
        fn the_test_is_symmetric_and_mid_p_is_the_smaller(b in 0..400_u64, c in 0..400_u64) {
            let of = |b, c| PairedOutcomes { only_baseline: b, only_candidate: c, ..Default::default() }.mcnemar();
            let (one, other) = (of(b, c), of(c, b));
            prop_assert!((one.p_mid - other.p_mid).abs() < 1e-12 && (one.p_exact - other.p_exact).abs() < 1e-12);
            prop_assert!(one.p_mid <= one.p_exact + 1e-12);
            prop_assert!((0.0..=1.0).contains(&one.p_mid) && (0.0..=1.0).contains(&one.p_exact));
        }
    }
}
