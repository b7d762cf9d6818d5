//! Scores and changes of which few vary: coverage, and equivalence at the margin.

use karat_stats::describe::mean_with_t_interval;
use karat_stats::inference::{Bounded, Change};
use karat_stats::interval::{Interval, Level};

use crate::draw::{Draw, share};

const SIZES: [usize; 5] = [10, 20, 50, 100, 200];

/// Changes with their probabilities; all others are 0.
const CHANGES: [&[(f64, f64)]; 5] =
    [&[(-1.0, 0.05)], &[(-4.0, 0.02)], &[(-4.0, 0.05)], &[(-1.0, 0.10), (1.0, 0.05)], &[(-2.0, 0.04), (1.0, 0.03)]];

/// The interval of a figure on a scale of 1 to 5.
fn figure(scores: &[f64]) -> Option<Interval> {
    match Bounded::new(scores, 1.0) {
        Some(bounded) => bounded.interval(1.0, 5.0, Level::P95),
        None => mean_with_t_interval(scores, Level::P95).interval,
    }
}

/// The interval that means usually have; none where all are equal.
fn by_t(scores: &[f64]) -> Option<Interval> {
    mean_with_t_interval(scores, Level::P95).interval
}

/// Scores that are 5 with probability `top`, else 1 to 4 evenly.
fn coverage(runs: u64, n: usize, top: f64, rule: fn(&[f64]) -> Option<Interval>) -> f64 {
    let truth = 5.0 * top + 2.5 * (1.0 - top);
    share(runs, |run| {
        let mut draw = Draw::new(91, run);
        let score = |draw: &mut Draw| if draw.uniform() < top { 5.0 } else { 1.0 + draw.below(4) as f64 };
        let scores: Vec<f64> = (0..n).map(|_| score(&mut draw)).collect();
        rule(&scores).is_some_and(|it| it.contains(truth))
    })
}

/// The share of runs that are called equivalent, and of those that are decided, when the mean change is at the margin.
fn equivalent_at_the_margin(runs: u64, n: usize, changes: &[(f64, f64)]) -> (f64, f64) {
    let truth: f64 = changes.iter().map(|(value, p)| value * p).sum();
    let margin = truth.abs();
    let within = |it: Interval| it.lo > -margin && it.hi < margin;
    let mut by_t = 0;
    let equivalent = share(runs, |run| {
        let differences = differences(&mut Draw::new(97, run), n, changes);
        by_t += u64::from(mean_with_t_interval(&differences, Level::P90).interval.is_some_and(within));
        let change = Change::of_differences(differences, Some(4.0), None).unwrap();
        change.interval(Level::P90).is_some_and(within)
    });
    (equivalent, by_t as f64 / runs as f64)
}

fn differences(draw: &mut Draw, n: usize, changes: &[(f64, f64)]) -> Vec<f64> {
    let one = |draw: &mut Draw| {
        let mut left = draw.uniform();
        for (value, p) in changes {
            if left < *p {
                return *value;
            }
            left -= p;
        }
        0.0
    };
    (0..n).map(|_| one(draw)).collect()
}

fn error(p: f64, runs: u64) -> f64 {
    2.0 * (p * (1.0 - p) / runs as f64).sqrt()
}

fn check(runs: u64, sizes: &[usize]) {
    for n in sizes {
        for top in [0.9, 0.98] {
            let (covered, by_t) = (coverage(runs, *n, top, figure), coverage(runs, *n, top, by_t));
            let (top_shown, shown) = (100.0 * top, [covered, by_t].map(|share| 100.0 * share));
            println!("scores   n {n:4}  {top_shown:2.0} % are 5  covers {:5.1} %, t {:5.1} %", shown[0], shown[1]);
            assert!(covered >= 0.925 - error(0.925, runs), "{n}, {top}: {covered}");
        }
        for changes in CHANGES {
            let (found, by_t) = equivalent_at_the_margin(runs, *n, changes);
            let shown = [found, by_t].map(|share| 100.0 * share);
            println!(
                "changes  n {n:4}  {changes:?}  equivalent at the margin {:4.1} %, t {:4.1} %",
                shown[0], shown[1]
            );
            assert!(found <= 0.06 + error(0.06, runs), "{n}, {changes:?}: {found}");
        }
    }
}

/// DC-03: nearly equal scores cover, and nothing is called equivalent at its margin.
#[test]
fn few_varying_values_claim_nothing() {
    check(120, &[20, 100]);
}

/// DC-03: without any change 133 pass/fail samples and 149 scores are needed for ± .02 of the range.
#[test]
fn equal_results_need_133_samples_for_a_fiftieth() {
    use karat_stats::inference::Outcome;
    let within = |n: usize, outcome, largest: f64| {
        let scores = vec![1.0; n];
        let change = Change::new(&scores, &scores, outcome, Some(largest), None).unwrap();
        change.interval(Level::P90).unwrap().hi < 0.02 * largest
    };
    assert!(within(133, Outcome::PassFail, 1.0) && !within(132, Outcome::PassFail, 1.0));
    assert!(within(149, Outcome::Score, 4.0) && !within(148, Outcome::Score, 4.0));
}

/// Longer forms of the tests above.
mod long {
    use super::*;

    /// DC-03: the whole table.
    #[test]
    #[ignore = "minutes: scripts/test --long"]
    fn full_table_of_ties() {
        check(2_000, &SIZES);
    }
}
