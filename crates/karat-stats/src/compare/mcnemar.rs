//! McNemar's test of two pass rates on the same items.

use crate::{
    interval::{Interval, Level, Method},
    special::{Binomial, ChiSquared, normal_quantile, two_sided_p},
};

/// How the two systems did on the same pass/fail items.
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

    /// The test-based interval of the difference of the two rates (Miettinen 1976): d ± z_{1−α/2}·d/z_p, where z_p is
    /// the normal quantile of the mid-p value. It leaves out 0 exactly where the mid-p is below α.
    ///
    /// Without a difference the standard error under the null, √(b + c)/n, stands for d/z_p. `None` for no items.
    pub fn interval(&self, level: Level) -> Option<Interval> {
        let test = self.mcnemar();
        let difference = test.difference?;
        let total = test.discordant + self.both_pass + self.both_fail;
        let null_error = (test.discordant as f64).sqrt() / total as f64;
        let z = -normal_quantile(0.5 * test.p_mid);
        let implied = difference.abs() / z;
        let error = if implied > 0.0 && implied.is_finite() { implied } else { null_error };
        let half = level.z() * error;
        Some(Interval::around(difference, half, level, Method::MidP))
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

    proptest! {
        /// BY-01: interval and p-value never contradict each other.
        #[test]
        fn the_interval_leaves_out_0_where_the_mid_p_is_below_alpha(b in 0..3000_u64, c in 0..3000_u64, rest in 0..500_u64) {
            let counts = PairedOutcomes { only_baseline: b, only_candidate: c, both_pass: rest, both_fail: 1 };
            let test = counts.mcnemar();
            for level in [Level::P90, Level::P95, Level::P99] {
                prop_assume!((test.p_mid - level.alpha()).abs() > 1e-9);
                let interval = counts.interval(level).unwrap();
                prop_assert!(interval.lo.is_finite() && interval.hi.is_finite());
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
