use proptest::prelude::*;
use rand_chacha::rand_core::Rng;

use super::*;
use crate::describe::mean;
use crate::interval::{Level, Method};
use crate::numeric::seed::Seed;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
}

fn uniform(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Share of runs in which the t interval of PPI++ contains a pass rate of 0.7, for a judge with sensitivity 0.9 and
/// specificity 0.8.
fn coverage(labels: usize, runs: u64) -> f64 {
    let rate = 0.7;
    let mut held = 0.0;
    for run in 0..runs {
        let mut rng = Seed(20_260_101).stream(run);
        let mut item = || {
            let passes = uniform(&mut rng) < rate;
            let passed = uniform(&mut rng) < if passes { 0.9 } else { 0.2 };
            (f64::from(u8::from(passes)), f64::from(u8::from(passed)))
        };
        let (human, judge_on_human): (Vec<_>, Vec<_>) = (0..labels).map(|_| item()).unzip();
        let (_, judge_unlabelled): (Vec<f64>, Vec<f64>) = (0..1000).map(|_| item()).unzip();
        let estimate = ppi_mean(&human, &judge_on_human, &judge_unlabelled, Level::P95).unwrap();
        held += f64::from(u8::from(estimate.unwrap().tuned.interval.contains(rate)));
    }
    held / runs as f64
}

/// BY-03, HU-40: simulated coverage of the human-anchored mean is 93–97 % at 50, 100 and 300 labels.
#[test]
fn anchored_intervals_hold_what_they_promise() {
    for labels in [50, 100, 300] {
        let held = coverage(labels, 2000);
        assert!((0.93..=0.97).contains(&held), "{labels} labels: {held}");
    }
}

/// BY-03: the label budget is the smallest that reaches the wanted half-width.
#[test]
fn the_label_budget_is_enough_and_not_more() {
    let plan = LabelPlan {
        var_human: 0.21,
        var_judge: 0.18,
        correlation: 0.8,
        n_unlabelled: 2000,
        half_width: 0.06,
        level: Level::P95,
    };
    let budget = label_budget(&plan).unwrap();
    assert!(budget.half_width <= plan.half_width);
    assert!(budget.labels_ppi_pp < budget.labels_classical);
    let tighter = LabelPlan { half_width: budget.half_width * 0.999_999, ..plan };
    assert!(label_budget(&tighter).unwrap().labels_ppi_pp > budget.labels_ppi_pp);
    assert!(label_budget(&LabelPlan { half_width: 0.0, ..plan }).is_err());
    assert!(label_budget(&LabelPlan { correlation: 1.1, ..plan }).is_err());
}

#[test]
fn a_constant_judge_leaves_the_human_labels() {
    let human = [0.2, 0.9, 0.4, 0.6];
    let means = ppi_mean(&human, &[0.5; 4], &[0.5; 20], Level::P95).unwrap().unwrap();
    assert!(close(means.lambda, 0.0));
    assert_eq!(means.tuned, means.classical);
}

#[test]
fn too_few_labels_are_undefined() {
    assert_eq!(ppi_mean(&[1.0], &[1.0], &[0.0, 1.0], Level::P95), Ok(None));
    assert_eq!(ppi_mean(&[1.0, 0.0], &[1.0, 0.0], &[1.0], Level::P95), Ok(None));
    assert!(ppi_mean(&[1.0, 0.0], &[1.0], &[1.0, 1.0], Level::P95).is_err());
}

#[test]
fn equal_scores_everywhere_give_a_degenerate_interval() {
    let means = ppi_mean(&[1.0; 5], &[1.0; 5], &[1.0; 50], Level::P95).unwrap().unwrap();
    assert_eq!(means.tuned.interval.method, Method::Degenerate);
    assert_eq!(means.tuned.degrees_of_freedom, None);
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

#[test]
fn one_fold_leaves_nothing_to_fit_to() {
    assert_eq!(recalibrate(&[1.0, 2.0], &[1.0, 2.0], &[0, 0]), Ok(None));
    assert_eq!(recalibrate(&[], &[], &[]), Ok(None));
}

#[test]
fn a_biased_but_linear_judge_is_recalibrated_without_error() {
    let human: Vec<f64> = (0..12).map(|i| f64::from(i * i % 7)).collect();
    let judge: Vec<f64> = human.iter().map(|score| 2.0 * score + 1.0).collect();
    let fold: Vec<usize> = (0..12).map(|i| i % 3).collect();
    let result = recalibrate(&judge, &human, &fold).unwrap().unwrap();
    assert!(close(result.line.slope, 0.5) && close(result.line.intercept, -0.5));
    assert!(result.linear_error.root_mean_square_error < 1e-9);
    assert!(result.raw.bias > 1.0);
}

fn scores(n: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<f64>> {
    let score = prop_oneof![(0..5_u8).prop_map(f64::from), 0.0..4.0_f64];
    prop::collection::vec(score, n)
}

proptest! {
    #[test]
    fn anchored_means_are_numbers_and_move_with_the_scale(
        (human, judge) in (2..20_usize).prop_flat_map(|n| (scores(n), scores(n))),
        unlabelled in scores(2..40),
        shift in -3.0..3.0_f64,
    ) {
        let moved = |values: &[f64]| -> Vec<f64> { values.iter().map(|x| 2.0 * x + shift).collect() };
        let one = ppi_mean(&human, &judge, &unlabelled, Level::P95).unwrap().unwrap();
        let other = ppi_mean(&moved(&human), &moved(&judge), &moved(&unlabelled), Level::P95);
        let other = other.unwrap().unwrap();
        prop_assert!((0.0..=1.0).contains(&one.lambda));
        for (one, other) in [(one.classical, other.classical), (one.ppi, other.ppi)] {
            prop_assert!(one.interval.lo <= one.estimate && one.estimate <= one.interval.hi);
            prop_assert!(close(2.0 * one.estimate + shift, other.estimate));
            prop_assert!(close(2.0 * one.standard_error, other.standard_error));
        }
        prop_assert!(close(one.classical.estimate, mean(&human).unwrap()));
        prop_assert!(one.tuned.interval.hi.is_finite() && one.tuned.interval.lo.is_finite());
    }

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

    #[test]
    fn isotonic_fits_are_monotone_and_keep_the_mean(
        (x, y) in (1..30_usize).prop_flat_map(|n| (scores(n), scores(n))),
    ) {
        let fit = Isotonic::fit(&x, &y, None, Direction::Increasing).unwrap().unwrap();
        let fitted: Vec<f64> = x.iter().map(|x| fit.predict(*x)).collect();
        prop_assert!(close(mean(&fitted).unwrap(), mean(&y).unwrap()));
        let steps: Vec<f64> = (-4..44).map(|i| fit.predict(f64::from(i) / 8.0)).collect();
        prop_assert!(steps.windows(2).all(|pair| pair[0] <= pair[1] + 1e-12));
        let again = Isotonic::fit(&x, &fitted, None, Direction::Increasing).unwrap().unwrap();
        prop_assert!(x.iter().zip(&fitted).all(|(x, y)| close(again.predict(*x), *y)));
        let negated: Vec<f64> = y.iter().map(|y| -y).collect();
        let down = Isotonic::fit(&x, &negated, None, Direction::Decreasing).unwrap().unwrap();
        prop_assert!(x.iter().zip(&fitted).all(|(x, y)| close(down.predict(*x), -*y)));
    }
}
