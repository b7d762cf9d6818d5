use rand_chacha::rand_core::Rng;

use super::*;
use crate::interval::Level;
use crate::numeric::seed::Seed;

/// A uniform draw from [0, 1).
fn uniform(rng: &mut impl Rng) -> f64 {
    f64::from(rng.next_u32()) / 4_294_967_296.0
}

/// The share of 5,000 comparisons of a system with itself that `differs` calls different.
fn false_alarms(items: usize, mut differs: impl FnMut(&[f64]) -> bool, score: fn(f64, f64) -> f64) -> f64 {
    let mut rng = Seed(20).stream(0);
    let mut alarms = 0;
    for _ in 0..5_000 {
        let differences: Vec<f64> = (0..items)
            .map(|_| {
                // Both runs share the difficulty of the item and nothing else.
                let difficulty = uniform(&mut rng);
                score(difficulty, uniform(&mut rng)) - score(difficulty, uniform(&mut rng))
            })
            .collect();
        alarms += u32::from(differs(&differences));
    }
    f64::from(alarms) / 5_000.0
}

fn pass(difficulty: f64, luck: f64) -> f64 {
    f64::from(u8::from(0.5 * difficulty + 0.5 * luck < 0.6))
}

fn graded(difficulty: f64, luck: f64) -> f64 {
    0.7 * difficulty + 0.3 * luck
}

/// BY-01: an A/A comparison of pass/fail runs is called different in 4–6 % of cases by mid-p at
/// 0.05, and less often by the exact test.
#[test]
fn mcnemars_mid_p_keeps_its_error_rate() {
    let outcomes = |differences: &[f64]| PairedOutcomes {
        only_baseline: differences.iter().filter(|d| **d < 0.0).count() as u64,
        only_candidate: differences.iter().filter(|d| **d > 0.0).count() as u64,
        ..PairedOutcomes::default()
    };
    let mid = false_alarms(300, |d| outcomes(d).mcnemar().p_mid < 0.05, pass);
    let exact = false_alarms(300, |d| outcomes(d).mcnemar().p_exact < 0.05, pass);
    assert!((0.04..=0.06).contains(&mid), "mid-p: {mid}");
    assert!(exact < mid, "exact: {exact}, mid-p: {mid}");
}

/// BY-01: an A/A comparison of scores is called different in 4–6 % of cases by the paired t test
/// and by the signed-rank test at 0.05.
#[test]
fn tests_of_scores_keep_their_error_rate() {
    let t = |d: &[f64]| paired_t(d, Level::P95).p_two_sided.is_some_and(|p| p < 0.05);
    let ranks = |d: &[f64]| wilcoxon(d, WilcoxonZeros::Pratt).and_then(|w| w.p_normal).is_some_and(|p| p < 0.05);
    for rate in [false_alarms(40, t, graded), false_alarms(40, ranks, graded)] {
        assert!((0.04..=0.06).contains(&rate), "{rate}");
    }
}

/// BY-01: the sign-flip test of an A/A comparison is called different in 4–6 % of cases at 0.05.
#[test]
fn sign_flips_keep_their_error_rate() {
    let flips = |d: &[f64]| sign_flip(d, 10_000, Seed(1)).is_some_and(|test| test.p_two_sided < 0.05);
    let rate = false_alarms(16, flips, graded);
    assert!((0.04..=0.06).contains(&rate), "{rate}");
}

/// BY-01: whatever the data, p-values lie in [0, 1] and nothing is NaN.
#[test]
fn extreme_data_give_no_nan() {
    let cases: [&[f64]; 7] = [
        &[],
        &[0.0],
        &[1e-320, -1e-320, 0.0],
        &[1e300, 1e300, -1e300],
        &[f64::MAX, f64::MAX, -f64::MAX],
        &[0.1; 30],
        &[1.0, f64::NAN, 2.0],
    ];
    let valid = |p: Option<f64>| p.is_none_or(|p| (0.0..=1.0).contains(&p));
    for d in cases {
        let t = paired_t(d, Level::P95);
        assert!(valid(t.p_two_sided) && valid(t.p_less) && valid(t.p_greater), "{d:?}: {t:?}");
        let finite = |x: Option<f64>| x.is_none_or(|x| !x.is_nan());
        assert!(finite(t.mean) && finite(t.t) && finite(t.cohen_dz), "{d:?}: {t:?}");
        assert!(t.interval.is_none_or(|i| !i.lo.is_nan() && !i.hi.is_nan()), "{d:?}: {t:?}");
        let ranks = wilcoxon(d, WilcoxonZeros::Drop);
        assert!(ranks.is_none_or(|w| valid(w.p_exact_two_sided) && valid(w.p_normal)), "{d:?}: {ranks:?}");
        let flips = sign_flip(d, 100, Seed(1));
        assert!(flips.is_none_or(|f| valid(Some(f.p_two_sided))), "{d:?}: {flips:?}");
    }
}
