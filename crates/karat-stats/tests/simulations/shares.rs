//! Shares of 2 to 12 turns, such as the recall of dialogues: coverage.

use karat_stats::describe::mean_with_t_interval;
use karat_stats::inference::{Clusters, share_mean};
use karat_stats::interval::Level;

use crate::draw::{Draw, share};

/// The share of runs whose interval holds the mean, over `units` samples or clusters of 1 to 5 samples.
/// Also by t, without clusters.
fn coverage(runs: u64, units: usize, mean: f64, clustered: bool) -> (f64, f64) {
    let mut by_t = 0;
    let covered = share(runs, |run| {
        let mut draw = Draw::new(101, run);
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        for unit in 0..units {
            let samples = if clustered { 1 + draw.below(5) } else { 1 };
            // Intraclass correlation 1/(1 + 1) = .5 of what one unit's turns have.
            let rate = draw.beta(mean, 1.0);
            for _ in 0..samples {
                let turns = 2 + draw.below(11);
                let found: f64 = (0..turns).map(|_| draw.passes(rate)).sum();
                values.push(found / turns as f64);
                labels.push(unit);
            }
        }
        let found = share_mean(&values, &values, &Clusters::new(&labels), Level::P95).unwrap();
        by_t += u64::from(mean_with_t_interval(&values, Level::P95).interval.is_some_and(|it| it.contains(mean)));
        found.interval.is_none_or(|it| it.contains(mean))
    });
    (covered, by_t as f64 / runs as f64)
}

fn check(runs: u64, sizes: &[usize]) {
    for units in sizes {
        for mean in [0.9, 0.97] {
            for clustered in [false, true] {
                let (covered, by_t) = coverage(runs, *units, mean, clustered);
                let shown = [covered, by_t].map(|share| 100.0 * share);
                println!(
                    "share {mean:.2}  {units:3} units  clusters {clustered:5}  covers {:5.1} %, t {:5.1} %",
                    shown[0], shown[1]
                );
                let error = 2.0 * (0.92 * 0.08 / runs as f64).sqrt();
                assert!(covered >= 0.92 - error, "{units}, {mean}, {clustered}: {covered}");
            }
        }
    }
}

/// DC-15: intervals of shares near 1 cover.
#[test]
fn shares_near_1_cover() {
    check(150, &[20, 60]);
}

/// Longer forms of the tests above.
mod long {
    use super::*;

    /// DC-15: the whole table.
    #[test]
    #[ignore = "minutes: scripts/test --long"]
    fn full_table_of_shares() {
        check(1_000, &[20, 50, 100, 200]);
    }
}
