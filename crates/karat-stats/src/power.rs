//! Planning: power, minimum detectable effect, required number of items.
//!
//! ```
//! use karat_stats::interval::Level;
//! use karat_stats::power::{Alternative, paired_t_items};
//!
//! // An effect of half a standard deviation of the differences, seen with a power of 80 %: 34 pairs.
//! let pairs = paired_t_items(0.5, 0.8, Level::P95, Alternative::TwoSided);
//! assert_eq!(pairs.map(f64::ceil), Some(34.0));
//! ```

use std::cell::RefCell;
use std::collections::HashMap;

use crate::interval::Level;
use crate::numeric::special::{NoncentralT, StudentT, find_root, normal_quantile};

/// The differences that count against the null hypothesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Alternative {
    /// Either direction.
    TwoSided,
    /// The candidate is higher.
    Larger,
    /// The candidate is lower.
    Smaller,
}

/// The arguments of [`paired_t_effect`], as bits.
type EffectKey = (u64, u64, u64, Alternative);

/// Largest number of effects that a thread remembers.
const MOST_EFFECTS: usize = 1_024;

thread_local! {
    /// Effects that were found: a report asks for the same few of every metric of every contrast, and each takes milliseconds
    /// where there are few pairs.
    static EFFECTS: RefCell<HashMap<EffectKey, Option<f64>>> = RefCell::default();
}

/// Power of the paired t test for the standardized effect `dz` = mean/sd of the differences.
///
/// 1 − F(t_{1−α/2}; n−1, dz√n) + F(−t_{1−α/2}; n−1, dz√n) with the noncentral t distribution.
/// `n` may be fractional. `None` unless n > 1 and `dz` is finite.
pub fn paired_t_power(dz: f64, n: f64, level: Level, alternative: Alternative) -> Option<f64> {
    let student = StudentT::new(n - 1.0)?;
    let shifted = NoncentralT::new(n - 1.0, dz * n.sqrt())?;
    Some(match alternative {
        Alternative::TwoSided => {
            let critical = student.upper_quantile(0.5 * level.alpha());
            (shifted.sf(critical) + shifted.cdf(-critical)).min(1.0)
        }
        Alternative::Larger => shifted.sf(student.upper_quantile(level.alpha())),
        Alternative::Smaller => shifted.cdf(-student.upper_quantile(level.alpha())),
    })
}

/// The number of pairs (fractional; show the ceiling) with which the paired t test has the wanted
/// power for `dz`.
///
/// `None` when `dz` is 0 or points away from the alternative, when `power` is not between α and 1,
/// or when two pairs have more power already.
pub fn paired_t_items(dz: f64, power: f64, level: Level, alternative: Alternative) -> Option<f64> {
    if !attainable(power, level) || !towards(dz, alternative) {
        return None;
    }
    let gap = |n: f64| paired_t_power(dz, n, level, alternative).map_or(-1.0, |reached| reached - power);
    bracket_root(gap, 2.0, 1e12)
}

/// The smallest standardized effect |dz| that the paired t test on `n` pairs detects with the wanted
/// power. `None` unless n > 1 and `power` is between α and 1.
pub fn paired_t_effect(n: f64, power: f64, level: Level, alternative: Alternative) -> Option<f64> {
    if !(n > 1.0 && n.is_finite() && attainable(power, level)) {
        return None;
    }
    let key = (n.to_bits(), power.to_bits(), level.alpha().to_bits(), alternative);
    if let Some(known) = EFFECTS.with_borrow(|effects| effects.get(&key).copied()) {
        return known;
    }
    let sign = if alternative == Alternative::Smaller { -1.0 } else { 1.0 };
    let gap = |dz: f64| paired_t_power(sign * dz, n, level, alternative).map_or(1.0, |reached| reached - power);
    let effect = bracket_root(gap, 0.0, 1e9);
    EFFECTS.with_borrow_mut(|effects| {
        if effects.len() >= MOST_EFFECTS {
            effects.clear();
        }
        effects.insert(key, effect);
    });
    effect
}

/// Paired samples that fall into clusters, as the cluster-robust t test sees them: a sample alone is a cluster of one.
///
/// The test has SE = deviation/√n and G − 1 degrees of freedom for n samples in G = n/`cluster_size` clusters, so that its
/// power is that of the paired t test on G units of standard deviation deviation/√`cluster_size`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedDesign {
    /// s_d of one sample, in the unit of the score; with clusters times the root of the design effect: SE·√n.
    pub deviation: f64,
    /// Samples of a cluster, on average: at least 1.
    pub cluster_size: f64,
}

/// More clusters than these are no plan.
const MOST_CLUSTERS: f64 = 1e12;

/// An effect above this is seen wherever there is a test at all.
const LARGEST_EFFECT: f64 = 1e9;

impl PairedDesign {
    /// The clusters that so many samples make.
    pub fn clusters(&self, samples: f64) -> f64 {
        (samples / self.cluster_size).round()
    }

    /// The smallest difference, in the unit of the score, that the two-sided test on `samples` samples detects with the
    /// wanted power. `None` for fewer than two clusters, or when nothing varies.
    pub fn detectable(&self, samples: f64, power: f64, level: Level) -> Option<f64> {
        let effect = paired_t_effect(self.clusters(samples), power, level, Alternative::TwoSided)?;
        Some(effect * self.unit_deviation()?).filter(|difference| difference.is_finite())
    }

    /// The fewest whole clusters with which the two-sided test detects `difference` with the wanted power: at least two.
    /// `None` for a difference of 0, when nothing varies, or for more than 10¹² clusters.
    pub fn clusters_for(&self, difference: f64, power: f64, level: Level) -> Option<f64> {
        let effect =
            Some(difference.abs() / self.unit_deviation()?).filter(|effect| *effect > 0.0)?.min(LARGEST_EFFECT);
        if paired_t_power(effect, 2.0, level, Alternative::TwoSided)? >= power {
            return Some(2.0);
        }
        let clusters = paired_t_items(effect, power, level, Alternative::TwoSided)?.ceil();
        Some(clusters).filter(|clusters| *clusters <= MOST_CLUSTERS)
    }

    /// The fewest whole clusters with which two one-sided tests (TOST), each at α = 1 − level, show with the wanted power
    /// that a difference of 0 lies within ±`margin`: at least two. `None` for a margin of 0, when nothing varies, or for
    /// more than 10¹² clusters.
    ///
    /// Both tests reject with probability 2·(1 − F_nct(t_{1−α, G−1}; G−1, margin/σ·√G)) − 1, so each has to with (1 + power)/2
    /// (Julious 2004, Stat Med 23:1921, by the noncentral t; for large n it is (z_{1−α} + z_{(1+power)/2})²·σ²/margin², as
    /// in Chow, Shao & Wang 2008, §3.1).
    pub fn clusters_for_equivalence(&self, margin: f64, power: f64, level: Level) -> Option<f64> {
        let effect = Some(margin.abs() / self.unit_deviation()?).filter(|effect| *effect > 0.0)?.min(LARGEST_EFFECT);
        let each = 0.5 * (1.0 + power);
        if paired_t_power(effect, 2.0, level, Alternative::Larger)? >= each {
            return Some(2.0);
        }
        let clusters = paired_t_items(effect, each, level, Alternative::Larger)?.ceil();
        Some(clusters).filter(|clusters| *clusters <= MOST_CLUSTERS)
    }

    fn unit_deviation(&self) -> Option<f64> {
        let unit = self.deviation / self.cluster_size.max(1.0).sqrt();
        (unit > 0.0 && unit.is_finite()).then_some(unit)
    }
}

/// Items (fractional) with which the interval of a rate at `level` lies on its side of a threshold with the wanted power, if the
/// rate is `rate`: (z·√(τ(1−τ)) + z_power·√(p(1−p)))²/(p − τ)² (Chow, Shao & Wang 2008, §4.1). `None` unless both are in (0, 1)
/// and differ, and for a power that is not in (0, 1).
pub fn rate_items(threshold: f64, rate: f64, level: Level, power: f64) -> Option<f64> {
    let spread = |p: f64| (p > 0.0 && p < 1.0).then(|| (p * (1.0 - p)).sqrt());
    let reach = level.z() * spread(threshold)? + normal_quantile(power) * spread(rate)?;
    let is_sound = power > 0.0 && power < 1.0 && reach > 0.0 && (rate - threshold).abs() > 0.0;
    is_sound.then(|| (reach / (rate - threshold)).powi(2))
}

/// A test rejects with probability α when there is no effect, and never with certainty.
fn attainable(power: f64, level: Level) -> bool {
    power > level.alpha() && power < 1.0
}

fn towards(dz: f64, alternative: Alternative) -> bool {
    dz.is_finite()
        && match alternative {
            Alternative::TwoSided => dz.abs() > 0.0,
            Alternative::Larger => dz > 0.0,
            Alternative::Smaller => dz < 0.0,
        }
}

/// The root of a rising function at or above `from`, within the first doubling interval that holds
/// it. `None` when it is positive at `from` already, or up to `limit` nowhere.
fn bracket_root(gap: impl Fn(f64) -> f64, from: f64, limit: f64) -> Option<f64> {
    let (mut lo, mut hi) = (from, 2.0 * from.max(0.5));
    while gap(hi) < 0.0 {
        (lo, hi) = (hi, 2.0 * hi);
        if hi > limit {
            return None;
        }
    }
    find_root(gap, lo, hi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// BY-16: the power function starts at α.
    #[test]
    fn no_effect_is_detected_with_probability_alpha() {
        let power = paired_t_power(0.0, 25.0, Level::P95, Alternative::TwoSided).unwrap();
        assert!((power - 0.05).abs() < 1e-12, "{power}");
    }

    #[test]
    fn a_huge_effect_has_power_1() {
        for n in [800.0, 1e5] {
            let power = paired_t_power(0.979, n, Level::P95, Alternative::TwoSided).unwrap();
            assert!((power - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn impossible_plans_are_undefined() {
        assert_eq!(paired_t_items(0.0, 0.8, Level::P95, Alternative::TwoSided), None);
        assert_eq!(paired_t_items(-0.5, 0.8, Level::P95, Alternative::Larger), None);
        assert_eq!(paired_t_items(0.5, 1.0, Level::P95, Alternative::TwoSided), None);
        assert_eq!(paired_t_items(0.5, 0.01, Level::P95, Alternative::TwoSided), None);
        assert_eq!(paired_t_effect(1.0, 0.8, Level::P95, Alternative::TwoSided), None);
    }

    /// DC-14: the interval of a rate of 0.95 lies above 0.9 in 80 % of draws of 239 items.
    #[test]
    fn a_rate_is_told_from_its_bound() {
        assert_eq!(rate_items(0.9, 0.95, Level::P95, 0.8).map(f64::ceil), Some(239.0));
        assert_eq!(rate_items(0.9, 0.9, Level::P95, 0.8), None);
        assert_eq!(rate_items(0.98, 1.03, Level::P95, 0.8), None);
    }

    /// BY-16, PE-12: few clusters have few degrees of freedom, and a plan knows it.
    #[test]
    fn clusters_are_planned_with_their_degrees_of_freedom() {
        let clustered = PairedDesign { deviation: 1.0, cluster_size: 8.0 };
        // scipy.stats.nct, df = 4, solved for a power of 0.8 at t.ppf(.975, 4): δ√40 = 3.76106; with df = 39 it is 2.87298
        let few = clustered.detectable(40.0, 0.8, Level::P95).unwrap();
        assert!((few * 40.0_f64.sqrt() - 3.761_06).abs() < 1e-5, "{}", few * 40.0_f64.sqrt());
        let alone = PairedDesign { deviation: 1.0, cluster_size: 1.0 };
        let many = alone.detectable(40.0, 0.8, Level::P95).unwrap();
        assert!((many - paired_t_effect(40.0, 0.8, Level::P95, Alternative::TwoSided).unwrap()).abs() < 1e-12);
        assert!(few > 1.3 * many);
        for difference in [0.05, 0.3, 1.0] {
            let clusters = clustered.clusters_for(difference, 0.8, Level::P95).unwrap();
            assert!(clustered.detectable(8.0 * clusters, 0.8, Level::P95).unwrap() <= difference);
            let fewer = clustered.detectable(8.0 * (clusters - 1.0), 0.8, Level::P95);
            assert!(fewer.is_none_or(|least| least > difference), "{difference}: {clusters}");
        }
    }

    /// BY-01, BY-16: what equivalence takes, by simulation of its two one-sided tests on a difference of 0.
    #[test]
    fn equivalence_is_planned_by_its_own_power() {
        use crate::compare::paired_t;
        use crate::numeric::seed::Seed;
        use rand_chacha::rand_core::Rng;
        let design = PairedDesign { deviation: 1.0, cluster_size: 1.0 };
        let items = design.clusters_for_equivalence(0.4, 0.8, Level::P95).unwrap();
        // (z_{.95} + z_{.9})² / 0.16 = 53.52, and what t takes more
        assert!((54.0..58.0).contains(&items), "{items}");
        let mut random = Seed(5).stream(0);
        let mut normal = || normal_quantile((f64::from(random.next_u32()) + 0.5) / 4_294_967_296.0);
        let shown = (0..4_000).filter(|_| {
            let differences: Vec<f64> = (0..items as usize).map(|_| normal()).collect();
            let interval = paired_t(&differences, Level::P90).interval.unwrap();
            interval.lo > -0.4 && interval.hi < 0.4
        });
        let share = shown.count() as f64 / 4_000.0;
        assert!((share - 0.8).abs() < 0.025, "{share}");
        let clustered = PairedDesign { deviation: 1.0, cluster_size: 8.0 };
        assert!(clustered.clusters_for_equivalence(0.4, 0.8, Level::P95).unwrap() >= 8.0);
        assert_eq!(design.clusters_for_equivalence(0.0, 0.8, Level::P95), None);
    }

    /// BY-16: extremes of a difference are an answer or nothing, never a number that overflowed.
    #[test]
    fn extreme_differences_are_planned_or_undefined() {
        let design = PairedDesign { deviation: 0.5, cluster_size: 1.0 };
        let clusters = |difference| design.clusters_for(difference, 0.8, Level::P95);
        assert_eq!((clusters(1e300), clusters(1e6)), (Some(2.0), Some(2.0)));
        assert_eq!((clusters(1e-9), clusters(1e-300), clusters(0.0), clusters(f64::NAN)), (None, None, None, None));
        // δ²/4·10¹⁰ for the δ with Φ(δ − z_{.975}) + Φ(−δ − z_{.975}) = 0.8, which t approaches: both sides reject, so it is
        // 2.4e-6 below (z_{.975} + z_{.8})²
        assert!((clusters(1e-5).unwrap() / 1.962_215_127_331_5e10 - 1.0).abs() < 1e-9, "{:?}", clusters(1e-5));
        assert_eq!(PairedDesign { deviation: 0.0, ..design }.clusters_for(1.0, 0.8, Level::P95), None);
        assert_eq!(design.detectable(1.0, 0.8, Level::P95), None);
    }

    proptest! {
        /// BY-16: planned items and detectable effects reach exactly the wanted power.
        #[test]
        fn items_and_effect_invert_power(dz in 0.1..1.5_f64, power in 0.5..0.95_f64) {
            for alternative in [Alternative::TwoSided, Alternative::Larger] {
                let Some(n) = paired_t_items(dz, power, Level::P95, alternative) else { continue };
                let reached = paired_t_power(dz, n, Level::P95, alternative).unwrap();
                prop_assert!((reached - power).abs() < 1e-9);
                let back = paired_t_effect(n, power, Level::P95, alternative).unwrap();
                prop_assert!((back - dz).abs() < 1e-7);
            }
        }

        #[test]
        fn power_mirrors_and_grows_with_the_effect(dz in 0.0..2.0_f64, more in 0.01..1.0_f64, n in 3..200_u32) {
            let power = |dz, alternative| paired_t_power(dz, f64::from(n), Level::P95, alternative).unwrap();
            prop_assert!((power(dz, Alternative::Larger) - power(-dz, Alternative::Smaller)).abs() < 1e-12);
            prop_assert!(power(dz + more, Alternative::TwoSided) >= power(dz, Alternative::TwoSided) - 1e-12);
        }
    }
}
