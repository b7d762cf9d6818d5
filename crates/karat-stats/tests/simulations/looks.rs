//! Looking at a growing test set again and again: false decisions.

use karat_stats::inference::Change;

use crate::draw::{Draw, share};

/// Each further look is decided at a fifth of the level before.
const STEP: f64 = 0.2;

/// Each look is decided at the whole level.
const WHOLE: f64 = 1.0;

/// The share of runs without a change that any of `looks` looks decides, the n growing by half each time.
fn decided(runs: u64, looks: u32, first: usize, step: f64) -> f64 {
    share(runs, |run| {
        let mut draw = Draw::new(107, run);
        let mut differences = Vec::new();
        let (mut n, mut alpha) = (first, 0.05);
        (0..looks).any(|_| {
            while differences.len() < n {
                differences.push(draw.normal());
            }
            let change = Change::of_differences(differences.clone(), None, None).unwrap();
            let found = change.p().is_some_and(|p| p <= alpha);
            (n, alpha) = (n + n / 2, alpha * step);
            found
        })
    })
}

/// DC-14: looks together are wrong in at most 1.25 α.
#[test]
fn looks_together_are_seldom_wrong() {
    let (runs, found) = (300, decided(300, 8, 40, STEP));
    assert!(found <= 0.06 + 2.0 * (0.06 * 0.94 / f64::from(runs)).sqrt(), "{found}");
}

/// Longer forms of the tests above.
mod long {
    use super::*;

    /// DC-14: the whole table.
    #[test]
    #[ignore = "minutes: scripts/test --long"]
    fn full_table_of_looks() {
        for (looks, first) in [(2, 40), (5, 40), (10, 40), (10, 100)] {
            let found = decided(4_000, looks, first, STEP);
            let shown = [found, decided(4_000, looks, first, WHOLE)].map(|share| 100.0 * share);
            println!("{looks:2} looks from n = {first:3}: decided {:4.1} %, each at 5 % {:4.1} %", shown[0], shown[1]);
            assert!(found <= 0.06 + 2.0 * (0.06_f64 * 0.94 / 4_000.0).sqrt(), "{found}");
        }
    }
}
