use std::num::NonZeroUsize;

use proptest::prelude::*;

use super::*;
use crate::describe::{mean, median, population_variance};
use crate::interval::{Level, Method};
use crate::numeric::seed::Seed;

fn resampling(resamples: usize, threads: usize) -> Resampling {
    Resampling { resamples, seed: Seed(42), threads: NonZeroUsize::new(threads).unwrap() }
}

fn continuous(n: usize) -> Vec<f64> {
    (0..n).map(|i| ((i as f64 + 0.5) * 0.618_033_988_749_895).fract().powi(2)).collect()
}

fn pass_rate(n: usize) -> Vec<f64> {
    (0..n).map(|i| f64::from(u8::from(i % 5 != 0))).collect()
}

#[test]
fn many_threads_give_the_replicates_of_one() {
    for values in [continuous(500), pass_rate(500)] {
        let one = bootstrap_mean(&values, &resampling(1000, 1)).unwrap();
        for threads in [2, 3, 8, 64] {
            assert_eq!(one, bootstrap_mean(&values, &resampling(1000, threads)).unwrap());
        }
    }
    let values = continuous(40);
    let one = bootstrap(&values, median, &resampling(300, 1)).unwrap();
    assert_eq!(one, bootstrap(&values, median, &resampling(300, 2)).unwrap());
}

#[test]
fn replicates_have_the_mean_and_variance_of_theory() {
    for values in [continuous(400), pass_rate(400), continuous(20)] {
        let distribution = bootstrap_mean(&values, &resampling(40_000, 2)).unwrap();
        let (centre, variance) = (mean(&values).unwrap(), population_variance(&values).unwrap() / values.len() as f64);
        let replicates = distribution.replicates();
        let off = (mean(replicates).unwrap() - centre) / (variance / replicates.len() as f64).sqrt();
        assert!(off.abs() < 4.0, "mean is off by {off} standard errors");
        let ratio = population_variance(replicates).unwrap() / variance;
        assert!((ratio - 1.0).abs() < 0.04, "variance ratio {ratio}");
    }
}

#[test]
fn drawing_counts_and_drawing_items_agree() {
    let values = pass_rate(400);
    let counts = bootstrap_mean(&values, &resampling(20_000, 1)).unwrap();
    let items = bootstrap(&values, mean, &resampling(20_000, 1)).unwrap();
    for level in [Level::P90, Level::P99] {
        let (a, b) = (counts.percentile(level).unwrap(), items.percentile(level).unwrap());
        assert!((a.lo - b.lo).abs() <= 0.005 && (a.hi - b.hi).abs() <= 0.005);
    }
}

#[test]
fn equal_values_collapse_to_the_point_and_say_so() {
    let values = [0.99; 12];
    let distribution = bootstrap_mean(&values, &resampling(200, 1)).unwrap();
    let bca = distribution.bca(&jackknife(&values, mean).unwrap(), Level::P95);
    let interval = bca.interval.unwrap();
    assert_eq!((interval.method, bca.correction), (Method::Degenerate, None));
    assert!(interval.half_width() < 1e-12);
}

#[test]
fn no_values_or_no_resamples_is_undefined() {
    assert_eq!(bootstrap_mean(&[], &resampling(10, 1)), None);
    assert_eq!(bootstrap_mean(&[1.0, 2.0], &resampling(0, 1)), None);
    assert_eq!(bootstrap_mean(&[1.0, f64::NAN], &resampling(10, 1)), None);
    assert_eq!(bootstrap_indices(0, |_| Some(1.0), &resampling(10, 1)), None);
}

#[test]
fn undefined_resamples_are_left_out() {
    let some = |drawn: &[usize]| drawn.contains(&0).then_some(drawn.len() as f64);
    let distribution = bootstrap_indices(6, some, &resampling(500, 1)).unwrap();
    assert!((1..450).contains(&distribution.replicates().len()));
}

#[test]
fn the_jackknife_leaves_out_each_value_in_turn() {
    assert_eq!(jackknife(&[1.0, 2.0, 6.0], mean), Some(vec![4.0, 3.5, 1.5]));
    assert_eq!(jackknife(&[], mean), None);
}

proptest! {
    #[test]
    fn intervals_follow_shift_and_scale(
        values in prop::collection::vec((0..1024_u16).prop_map(|x| f64::from(x) / 1024.0), 5..40),
        shift in (-8..8_i8).prop_map(f64::from),
    ) {
        let moved: Vec<f64> = values.iter().map(|x| 2.0 * x + shift).collect();
        let of = |values: &[f64]| {
            let distribution = bootstrap(values, mean, &resampling(300, 1)).unwrap();
            distribution.bca(&jackknife(values, mean).unwrap(), Level::P95).interval
        };
        if let (Some(a), Some(b)) = (of(&values), of(&moved)) {
            prop_assert!((2.0 * a.lo + shift - b.lo).abs() < 1e-9, "{:?} {:?}", a, b);
            prop_assert!((2.0 * a.hi + shift - b.hi).abs() < 1e-9, "{:?} {:?}", a, b);
        }
    }

    #[test]
    fn a_wider_level_contains_the_narrower(values in prop::collection::vec(0.0..1.0_f64, 2..40)) {
        let distribution = bootstrap_mean(&values, &resampling(200, 1)).unwrap();
        let (narrow, wide) = (distribution.percentile(Level::P90).unwrap(), distribution.percentile(Level::P99).unwrap());
        prop_assert!(wide.lo <= narrow.lo && narrow.lo <= narrow.hi && narrow.hi <= wide.hi);
    }
}

/// BY-01: the inverted percentile interval leaves out exactly what the p-value rejects.
#[test]
fn p_and_inverted_interval_agree() {
    let values: Vec<f64> = (0..25).map(|at| f64::from(at * at % 7) - 2.0).collect();
    let how = Resampling { resamples: 999, ..Resampling::new(Seed(3)) };
    let drawn = bootstrap(&values, median, &how).unwrap();
    for level in [0.8, 0.9, 0.95, 0.99, 0.995].map(|level| Level::new(level).unwrap()) {
        let interval = drawn.percentile_interval(level).unwrap();
        for null in [-2.5, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0] {
            let inside = interval.lo <= null && null <= interval.hi;
            assert_eq!(inside, drawn.p_two_sided(null) > level.alpha(), "{null} at {level:?}: {interval:?}");
        }
    }
    assert_eq!(drawn.percentile_interval(Level::new(0.9999).unwrap()), None);
}
