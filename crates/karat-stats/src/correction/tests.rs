use proptest::prelude::*;

use super::*;
use crate::interval::Level;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
}

#[test]
fn a_judge_no_better_than_chance_is_refused() {
    let counts = |true_pos, true_neg| JudgeCounts {
        judge_pass: 30,
        judge_total: 100,
        true_pos,
        human_pos: 30,
        true_neg,
        human_neg: 60,
    };
    // 0.7 + 0.3 − 1 is not exactly 0 in every rounding; the integers say chance.
    let chance = rogan_gladen(&counts(21, 18), Level::P95).unwrap();
    assert_eq!(chance.corrected, None);
    assert!(rogan_gladen(&counts(22, 18), Level::P95).unwrap().corrected.is_some());
    assert!(rogan_gladen(&counts(31, 18), Level::P95).is_err());
}

proptest! {
    #[test]
    fn corrected_rates_stay_in_range(
        (judge_pass, judge_total) in (1..200_u64).prop_flat_map(|n| (0..=n, Just(n))),
        (true_pos, human_pos) in (1..40_u64).prop_flat_map(|n| (0..=n, Just(n))),
        (true_neg, human_neg) in (1..40_u64).prop_flat_map(|n| (0..=n, Just(n))),
    ) {
        let counts = JudgeCounts { judge_pass, judge_total, true_pos, human_pos, true_neg, human_neg };
        let Some(corrected) = rogan_gladen(&counts, Level::P95).unwrap().corrected else {
            return Ok(());
        };
        prop_assert!((0.0..=1.0).contains(&corrected.estimate));
        for interval in [Some(corrected.delta_interval), corrected.interval].into_iter().flatten() {
            prop_assert!(0.0 <= interval.lo && interval.lo <= interval.hi && interval.hi <= 1.0);
        }
        if true_pos == human_pos && true_neg == human_neg {
            prop_assert!(close(corrected.estimate, judge_pass as f64 / judge_total as f64));
        }
    }
}
