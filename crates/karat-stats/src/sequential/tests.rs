use proptest::prelude::*;
use rand_chacha::rand_core::Rng;

use super::*;
use crate::numeric::seed::Seed;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs())
}

fn uniform(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Pass/fail items in a seeded random order, `passes` of them 1.
fn shuffled(items: usize, passes: usize, seed: u64) -> Vec<f64> {
    let mut rng = Seed(7).stream(seed);
    let mut scores = vec![0.0; items];
    scores[..passes].fill(1.0);
    for i in (1..items).rev() {
        scores.swap(i, (uniform(&mut rng) * (i + 1) as f64) as usize);
    }
    scores
}

const GATE: SequentialGate = SequentialGate { population: 100, threshold: 0.8, alpha: 0.05 };

/// Share of runs in which the early verdict on a set with `passes` of 100 differs from the verdict of the full run, and
/// the mean number of items used.
fn early_stopping(passes: usize) -> (f64, f64) {
    let runs = 400;
    let right = if passes >= 80 { GateVerdict::Pass } else { GateVerdict::Fail };
    let (mut wrong, mut used) = (0.0, 0.0);
    for run in 0..runs {
        let decision = gate_early_stop(&shuffled(100, passes, run), &GATE).unwrap().decision.unwrap();
        wrong += f64::from(u8::from(decision.verdict != right));
        used += decision.items as f64;
    }
    (wrong / runs as f64, used / runs as f64)
}

#[test]
fn early_gate_verdicts_are_seldom_wrong_and_cheap_when_clear() {
    for passes in [60, 75, 79, 80, 81, 90, 95] {
        let (wrong, _) = early_stopping(passes);
        assert!(wrong <= 0.05, "{passes} of 100 pass: wrong in {wrong}");
    }
    let (_, used) = early_stopping(95);
    assert!(used < 45.0, "{used} items used for a clear pass");
}

#[test]
fn a_paired_test_watched_all_the_time_keeps_its_error() {
    let rejected = (0..400).filter(|&run| {
        let mut rng = Seed(11).stream(run);
        let mut scores = || (0..200).map(|_| f64::from(u8::from(uniform(&mut rng) < 0.7))).collect();
        let (baseline, candidate): (Vec<f64>, Vec<f64>) = (scores(), scores());
        let test = sequential_paired(&baseline, &candidate, 0.05).unwrap();
        test.stop_two_sided.is_some()
    });
    let share = rejected.count() as f64 / 400.0;
    assert!(share <= 0.05, "rejected without a difference in {share}");
}

#[test]
fn confidence_sequences_hold_the_mean_at_all_times() {
    let missed = (0..300).filter(|&run| {
        let mut rng = Seed(13).stream(run);
        let values: Vec<f64> = (0..150).map(|_| uniform(&mut rng).powi(2)).collect();
        let mean = 1.0 / 3.0;
        let points = empirical_bernstein(&values, 0.1, 0.5).unwrap();
        let betting = BettingSequence::new(&values, 0.1, None).unwrap();
        let excluded = betting.wealth(mean).iter().any(|wealth| wealth.hedged >= 10.0);
        let outside = |p: &EmpiricalBernsteinPoint| p.lower > mean || p.upper < mean;
        excluded || points.iter().any(outside)
    });
    let share = missed.count() as f64 / 300.0;
    assert!(share <= 0.1, "missed in {share}");
}

#[test]
fn boundaries_match_the_published_constants() {
    // Five looks, two-sided 5 %: Jennison & Turnbull 2000, tables 2.1 and 2.3; ldbounds for spending.
    let five = |boundary| group_sequential(boundary, 5, 0.05).unwrap();
    let last = |boundary| five(boundary)[4].critical_z;
    assert!((last(Boundary::Pocock) - 2.413).abs() < 5e-4);
    assert!((last(Boundary::OBrienFleming) - 2.040).abs() < 5e-4);
    let published = [4.877, 3.357, 2.680, 2.290, 2.031];
    let spent = five(Boundary::LanDeMetsOBrienFleming);
    assert!(spent.iter().zip(published).all(|(look, z)| (look.critical_z - z).abs() < 5e-4));
    let single = group_sequential(Boundary::Pocock, 1, 0.05).unwrap();
    assert!((single[0].critical_z - 1.959_964).abs() < 1e-6);
    assert!(group_sequential(Boundary::Pocock, 0, 0.05).is_err());
}

#[test]
fn the_closed_form_of_rho_is_near_the_optimum() {
    let sequence = AsymptoticSequence::new(0.05, 200.0).unwrap();
    let (near, exact) = (sequence.rho_squared(), sequence.rho_squared_exact());
    assert!((near / exact - 1.0).abs() < 0.05);
    // −W₋₁(−α²/e) = u solves u·e^(−u) = α²/e.
    let u = exact * 200.0 + 1.0;
    assert!(close(u * (1.0 - u).exp(), 0.05 * 0.05));
}

#[test]
fn wrong_inputs_are_refused() {
    assert!(gate_early_stop(&[0.5; 101], &GATE).is_err());
    assert!(gate_early_stop(&[1.5], &GATE).is_err());
    assert!(sequential_paired(&[0.5], &[], 0.05).is_err());
    assert!(empirical_bernstein(&[0.5], 1.0, 0.5).is_err());
    assert!(empirical_bernstein(&[0.5], 0.05, 1.0).is_err());
    assert!(BettingSequence::new(&[0.1, 0.2], 0.05, Some(1)).is_err());
    assert!(AsymptoticSequence::new(0.05, 0.0).is_err());
}

fn unit_scores(n: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    let score = prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0_f64];
    prop::collection::vec(score, n)
}

proptest! {
    #[test]
    fn a_full_run_without_replacement_knows_the_mean(values in unit_scores(1..40)) {
        let n = values.len();
        let sequence = BettingSequence::new(&values, 0.05, Some(n as u64)).unwrap();
        let mean = values.iter().sum::<f64>() / n as f64;
        let bounds = sequence.bounds(n);
        for end in [bounds.lower, bounds.upper].into_iter().flatten() {
            prop_assert!((end - mean).abs() < 1e-9);
        }
    }

    #[test]
    fn betting_bounds_are_where_the_wealth_reaches_the_limit(
        values in unit_scores(1..40),
        extra in 0..50_u64,
        replaced in any::<bool>(),
    ) {
        let population = (!replaced).then_some(values.len() as u64 + extra);
        let sequence = BettingSequence::new(&values, 0.1, population).unwrap();
        for t in 1..=values.len() {
            let bounds = sequence.bounds(t);
            let (Some(lower), Some(upper)) = (bounds.lower, bounds.upper) else { continue };
            prop_assert!((0.0..=1.0).contains(&lower) && (0.0..=1.0).contains(&upper));
            if upper - lower > 1e-6 {
                let inside = sequence.wealth(0.5 * (lower + upper))[t - 1];
                prop_assert!(inside.hedged < 10.0 * (1.0 + 1e-9));
            }
            // Without replacement the bound may be what is still possible rather than likely.
            let seen: f64 = values[..t].iter().sum();
            let least = population.map_or(0.0, |size| seen / size as f64);
            if lower > least + 1e-6 {
                prop_assert!(sequence.wealth(lower - 1e-7)[t - 1].hedged > 10.0 * (1.0 - 1e-4));
            }
        }
    }

    #[test]
    fn wealth_is_never_negative_or_undefined(values in unit_scores(0..60), m in 0.0..=1.0_f64) {
        for population in [None, Some(60)] {
            let sequence = BettingSequence::new(&values, 0.05, population).unwrap();
            prop_assert!(sequence.wealth(m).iter().all(|w| w.plus >= 0.0 && w.minus >= 0.0));
        }
    }

    #[test]
    fn certain_gate_verdicts_are_those_of_the_full_run(
        scores in unit_scores(1..60),
        threshold in 0.0..=1.0_f64,
    ) {
        let gate = SequentialGate { population: scores.len() as u64, threshold, alpha: 0.05 };
        let run = gate_early_stop(&scores, &gate).unwrap();
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        prop_assume!((mean - threshold).abs() > 1e-9);
        let verdict = if mean >= threshold { GateVerdict::Pass } else { GateVerdict::Fail };
        prop_assert_eq!(run.certain.map(|decision| decision.verdict), Some(verdict));
        prop_assert!(run.points.iter().all(|point| point.e_pass >= 0.0 && point.e_fail >= 0.0));
    }

    #[test]
    fn empirical_bernstein_bounds_are_ordered_and_mirrored(values in unit_scores(0..60)) {
        let mirrored: Vec<f64> = values.iter().map(|x| 1.0 - x).collect();
        let (one, other) = (
            empirical_bernstein(&values, 0.05, 0.5).unwrap(),
            empirical_bernstein(&mirrored, 0.05, 0.5).unwrap(),
        );
        for (point, mirror) in one.iter().zip(&other) {
            prop_assert!(0.0 <= point.lower && point.upper <= 1.0);
            prop_assert!(point.lower_running >= point.lower && point.upper_running <= point.upper);
            prop_assert!((point.lower - (1.0 - mirror.upper)).abs() < 1e-9);
        }
    }

    #[test]
    fn swapping_the_systems_swaps_the_evidence(
        (baseline, candidate) in (0..50_usize).prop_flat_map(|n| (unit_scores(n..n + 1), unit_scores(n..n + 1))),
    ) {
        let forth = sequential_paired(&baseline, &candidate, 0.05).unwrap();
        let back = sequential_paired(&candidate, &baseline, 0.05).unwrap();
        for (up, down) in forth.e_improvement.iter().zip(&back.e_regression) {
            prop_assert!(close(*up, *down));
        }
        prop_assert_eq!(forth.anytime_p.is_none(), baseline.is_empty());
        prop_assert!(forth.anytime_p.is_none_or(|p| (0.0..=1.0).contains(&p)));
    }

    #[test]
    fn asymptotic_widths_are_numbers(values in prop::collection::vec(-1e6..1e6_f64, 0..60)) {
        let points = AsymptoticSequence::new(0.05, 100.0).unwrap().points(&values).unwrap();
        prop_assert!(points.iter().all(|p| p.half_width >= 0.0 && p.half_width.is_finite()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn later_looks_never_spend_less(looks in 1..8_usize, alpha in 0.005..0.2_f64) {
        for boundary in [
            Boundary::Pocock,
            Boundary::OBrienFleming,
            Boundary::LanDeMetsOBrienFleming,
            Boundary::LanDeMetsPocock,
        ] {
            let plan = group_sequential(boundary, looks, alpha).unwrap();
            prop_assert!((plan[looks - 1].cumulative_alpha - alpha).abs() < 1e-9);
            prop_assert!(plan.windows(2).all(|pair| pair[0].cumulative_alpha <= pair[1].cumulative_alpha));
        }
    }
}
