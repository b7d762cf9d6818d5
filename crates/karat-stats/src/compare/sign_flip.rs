//! The sign-flip permutation test of a mean difference: the robust default beside t.
//!
//! Under the null the differences are symmetric about 0, so every pattern of signs is equally
//! likely. With clusters, flip whole clusters: pass the sums of clusters.

use rand_chacha::rand_core::Rng;

use crate::describe::{is_constant, mean, sorted};
use crate::interval::{Interval, Level, Method};
use crate::numeric::seed::Seed;
use crate::numeric::special::boundary;
use crate::numeric::sum::sum;

/// The largest number of differences for which [`sign_flip`] enumerates every pattern.
pub const EXACT_UP_TO: usize = 20;

/// The largest number for which enumeration is possible at all.
const ENUMERABLE: usize = 40;

/// Sums within this share of Σ|d| of each other count as ties; rounding must not decide.
const SLACK: f64 = 1e-14;

/// The test of Σd against its distribution over sign patterns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignFlip {
    /// Patterns compared: 2ⁿ when enumerated, else the number sampled.
    pub permutations: u64,
    /// True if every pattern was enumerated.
    pub exact: bool,
    /// Share of patterns with |T*| ≥ |T|.
    pub p_two_sided: f64,
    /// Share of patterns with T* ≥ T: against the candidate being higher.
    pub p_greater: f64,
    /// Share of patterns with T* ≤ T: against the candidate being lower.
    pub p_less: f64,
}

/// Exact for up to [`EXACT_UP_TO`] differences, else `samples` random patterns (10,000 is usual).
/// `None` for no differences.
pub fn sign_flip(differences: &[f64], samples: u32, seed: Seed) -> Option<SignFlip> {
    if differences.len() <= EXACT_UP_TO {
        sign_flip_exact(differences)
    } else {
        sign_flip_sampled(differences, samples, seed)
    }
}

/// Enumerates all 2ⁿ patterns, identity included; `None` for no differences, more than 40, or
/// one that is not finite.
///
/// Meet in the middle: the sums of both halves are sorted and counted against each other, so 2ⁿ
/// patterns take 2^(n/2) steps.
pub fn sign_flip_exact(differences: &[f64]) -> Option<SignFlip> {
    let n = differences.len();
    let (t, slack) = observed_sum(differences).filter(|_| n <= ENUMERABLE)?;
    let (left, right) = differences.split_at(n / 2);
    let (left, right) = (signed_sums(left), signed_sums(right));
    let at_least = |limit: f64| pairs_at_least(&left, &right, limit);
    let greater = at_least(t - slack);
    // The distribution is symmetric: T* ≤ T as often as T* ≥ −T.
    let less = at_least(-t - slack);
    let beyond = at_least(t.abs() - slack);
    let permutations = 1_u64 << n;
    let share = |count: u64| count as f64 / permutations as f64;
    Some(SignFlip {
        permutations,
        exact: true,
        // Both tails, unless they overlap at T = 0.
        p_two_sided: share((2 * beyond).min(permutations)),
        p_greater: share(greater),
        p_less: share(less),
    })
}

/// Samples random patterns: p = (b + 1)/(m + 1) (Phipson & Smyth 2010), never 0.
/// `None` for no differences or one that is not finite.
pub fn sign_flip_sampled(differences: &[f64], samples: u32, seed: Seed) -> Option<SignFlip> {
    let (t, slack) = observed_sum(differences)?;
    let mut rng = seed.stream(0);
    let (mut greater, mut less, mut beyond) = (1_u64, 1_u64, 1_u64);
    for _ in 0..samples {
        let flipped = flipped_sum(differences, &mut rng);
        greater += u64::from(flipped >= t - slack);
        less += u64::from(flipped <= t + slack);
        beyond += u64::from(flipped.abs() >= t.abs() - slack);
    }
    let share = |count: u64| count as f64 / (f64::from(samples) + 1.0);
    Some(SignFlip {
        permutations: u64::from(samples),
        exact: false,
        p_two_sided: share(beyond),
        p_greater: share(greater),
        p_less: share(less),
    })
}

/// The shifts δ for which the exact test of d − δ is above α: the interval of the mean difference that belongs to
/// [`sign_flip_exact`]. Equal differences leave only the point.
///
/// `None` above 40 differences, and where so few of them can never be below α (2/2ⁿ > α).
pub fn sign_flip_interval(differences: &[f64], level: Level) -> Option<Interval> {
    let centre = mean(differences).filter(|_| differences.len() <= ENUMERABLE)?;
    let tail = 0.5 * level.alpha();
    if 0.5_f64.powi(differences.len() as i32) > tail {
        return None;
    }
    if is_constant(differences) {
        return Some(Interval::around(centre, 0.0, level, Method::Degenerate));
    }
    // Subset means lie within the differences, so both ends do.
    let share = |shift: f64, tail: fn(&SignFlip) -> f64| {
        let shifted: Vec<f64> = differences.iter().map(|d| d - shift).collect();
        sign_flip_exact(&shifted).map_or(1.0, |test| tail(&test))
    };
    let ascending = sorted(differences);
    let (least, most) = (*ascending.first()?, *ascending.last()?);
    let lo = boundary(least, centre, |shift| share(shift, |test| test.p_greater) <= tail);
    let hi = boundary(most, centre, |shift| share(shift, |test| test.p_less) <= tail);
    Some(Interval { lo, hi, level, method: Method::SignFlip })
}

/// The observed sum and the slack within which sums are tied; `None` for no differences or when a
/// sum of them could overflow.
fn observed_sum(differences: &[f64]) -> Option<(f64, f64)> {
    let size: f64 = differences.iter().map(|d| d.abs()).sum();
    (size.is_finite() && !differences.is_empty()).then(|| (sum(differences), SLACK * size))
}

/// Σ ±d with one random bit per difference.
fn flipped_sum(differences: &[f64], rng: &mut impl Rng) -> f64 {
    let mut total = 0.0;
    for block in differences.chunks(64) {
        let mut signs = rng.next_u64();
        for d in block {
            total += f64::from_bits(d.to_bits() ^ (signs << 63));
            signs >>= 1;
        }
    }
    total
}

/// All 2ᵏ sums of ±d, ascending: the sums before, once less d and once more, are merged.
fn signed_sums(differences: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0];
    let mut merged = Vec::with_capacity(1 << differences.len());
    for d in differences.iter().map(|d| d.abs()) {
        let mut less = sums.iter().map(|s| s - d).peekable();
        for more in sums.iter().map(|s| s + d) {
            while let Some(smaller) = less.next_if(|less| *less <= more) {
                merged.push(smaller);
            }
            merged.push(more);
        }
        std::mem::swap(&mut sums, &mut merged);
        merged.clear();
    }
    sums
}

/// Number of pairs, one sum from each ascending list, that reach `limit`.
fn pairs_at_least(left: &[f64], right: &[f64], limit: f64) -> u64 {
    let mut start = right.len();
    let mut count = 0;
    for a in left {
        while start > 0 && a + right[start - 1] >= limit {
            start -= 1;
        }
        count += (right.len() - start) as u64;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tied_sums_count_on_both_sides() {
        let test = sign_flip_exact(&[0.75, -0.75, 0.5, 0.5]).unwrap();
        assert_eq!((test.permutations, test.p_two_sided, test.p_greater, test.p_less), (16, 0.625, 0.3125, 0.8125));
    }

    #[test]
    fn only_zeros_are_p_1() {
        let exact = sign_flip_exact(&[0.0; 5]).unwrap();
        let sampled = sign_flip_sampled(&[0.0; 5], 100, Seed(1)).unwrap();
        for test in [exact, sampled] {
            assert_eq!((test.p_two_sided, test.p_greater, test.p_less), (1.0, 1.0, 1.0));
        }
        assert_eq!(sign_flip(&[], 10, Seed(1)), None);
    }

    #[test]
    fn sampling_comes_close_to_enumeration() {
        let d: Vec<f64> = (0..16).map(|i| f64::from(i % 7) - 2.3).collect();
        let (exact, sampled) = (sign_flip_exact(&d).unwrap(), sign_flip_sampled(&d, 20_000, Seed(5)).unwrap());
        assert!((exact.p_two_sided - sampled.p_two_sided).abs() < 0.015);
        assert_eq!(sampled, sign_flip_sampled(&d, 20_000, Seed(5)).unwrap());
    }

    #[test]
    fn too_few_differences_have_no_interval() {
        assert_eq!(sign_flip_interval(&[0.5, 1.0, 0.25, 0.5, 0.75], Level::P95), None);
        let six = sign_flip_interval(&[0.5, 1.0, 0.25, 0.5, 0.75, 0.5], Level::P95).unwrap();
        assert!((six.lo - 0.25).abs() < 1e-12 && (six.hi - 1.0).abs() < 1e-12, "{six:?}");
        assert_eq!(sign_flip_interval(&[0.5; 7], Level::P95).map(|it| (it.lo, it.hi)), Some((0.5, 0.5)));
    }

    proptest! {
        /// BY-01: interval and p-value never contradict each other.
        #[test]
        fn the_interval_leaves_out_0_where_the_test_is_below_alpha(d in prop::collection::vec(-0.6..1.0_f64, 6..18)) {
            let test = sign_flip_exact(&d).unwrap();
            let interval = sign_flip_interval(&d, Level::P95).unwrap();
            prop_assert!(interval.lo <= interval.hi);
            let excludes = interval.lo > 0.0 || interval.hi < 0.0;
            prop_assert_eq!(excludes, test.p_two_sided <= 0.05, "{:?} {:?}", interval, test);
        }

        #[test]
        fn enumeration_agrees_with_listing_every_pattern(d in prop::collection::vec((-8..9_i8).prop_map(|x| f64::from(x) / 10.0), 1..11)) {
            let n = d.len();
            let integer = |x: f64| (10.0 * x).round() as i64;
            let t: i64 = d.iter().map(|x| integer(*x)).sum();
            let (mut greater, mut less, mut beyond) = (0_u32, 0_u32, 0_u32);
            for signs in 0..1_u32 << n {
                let s: i64 = d.iter().enumerate().map(|(i, x)| if signs >> i & 1 == 1 { -integer(*x) } else { integer(*x) }).sum();
                greater += u32::from(s >= t);
                less += u32::from(s <= t);
                beyond += u32::from(s.abs() >= t.abs());
            }
            let all = f64::from(1_u32 << n);
            let test = sign_flip_exact(&d).unwrap();
            prop_assert!((test.p_greater - f64::from(greater) / all).abs() < 1e-12);
            prop_assert!((test.p_less - f64::from(less) / all).abs() < 1e-12);
            prop_assert!((test.p_two_sided - f64::from(beyond) / all).abs() < 1e-12);
        }
    }
}
