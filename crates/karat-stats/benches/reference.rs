//! Statistics beside the Python packages that people use, in one run, on the same data.
//!
//! `cargo bench -p karat-stats --bench reference`; `PYTHON` names another interpreter than `python3`.
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and stops when something is wrong"
)]

use std::num::NonZeroUsize;

use karat_stats::agreement::{
    Contingency, Measurement, Ratings, Weighting, cohen_kappa, krippendorff_alpha, score_indices,
};
use karat_stats::bootstrap::{Resampling, bootstrap_mean};
use karat_stats::numeric::seed::Seed;
use testkit::{Timing, time_in_python, time_work};

const VALUES: usize = 10_000;
const ITEMS: usize = 100_000;
const SCALE: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];

/// A measurement here, and its name in the script's reply.
struct Measured {
    what: &'static str,
    reference: &'static str,
    ours: Timing,
    /// The required speed-up over the reference.
    goal: f64,
}

/// The ratings of two raters, item by item.
fn pairs(judge: &[f64], human: &[f64]) -> Ratings {
    Ratings::from_units(judge.iter().zip(human).map(|(judge, human)| [*judge, *human])).unwrap()
}

fn main() {
    let differences: Vec<f64> = (0..VALUES).map(|i| ((i as f64 + 0.5) * 0.618_033_988_749_895).fract() - 0.4).collect();
    let steps: Vec<f64> = (0..VALUES).map(|i| (i % 5) as f64).collect();
    let step = |i: usize| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let human: Vec<f64> = (0..ITEMS).map(|i| 1.0 + (step(i) % 5) as f64).collect();
    let off = |i: usize| usize::from(step(i + ITEMS).is_multiple_of(3));
    let judge: Vec<f64> = (0..ITEMS).map(|i| 1.0 + (step(i) % 5 + off(i)).min(4) as f64).collect();
    let resampling =
        |threads: usize| Resampling { threads: NonZeroUsize::new(threads).unwrap(), ..Resampling::new(Seed(1)) };
    let se = |values: &[f64], threads| bootstrap_mean(values, &resampling(threads)).unwrap().standard_error().unwrap();
    let rows: [(&str, &str, f64, &dyn Fn() -> f64); 5] = [
        ("bootstrap, 1 thread", "bootstrap", 2.5, &|| se(&differences, 1)),
        ("bootstrap, 2 threads", "bootstrap", 4.5, &|| se(&differences, 2)),
        ("bootstrap of 5 distinct values", "multinomial", 0.7, &|| se(&steps, 1)),
        ("Krippendorff's alpha, 100,000 items", "alpha", 10.0, &|| {
            krippendorff_alpha(&pairs(&judge, &human), Measurement::Interval).unwrap().unwrap()
        }),
        ("quadratic kappa, 100,000 items", "kappa", 10.0, &|| {
            let a = score_indices("judge", &judge, &SCALE).unwrap();
            let b = score_indices("human", &human, &SCALE).unwrap();
            let table = Contingency::from_indices(&a, &b, SCALE.len()).unwrap();
            cohen_kappa(&table, Weighting::Quadratic).unwrap().kappa
        }),
    ];
    let measured: Vec<Measured> = rows
        .into_iter()
        .map(|(what, reference, goal, work)| Measured { what, reference, ours: time_work(work), goal })
        .collect();
    assert!(measured[0].ours.result.to_bits() == measured[1].ours.result.to_bits(), "threads change the result");
    let input = serde_json::json!({
        "differences": differences, "steps": steps, "human": human, "judge": judge
    });
    let python = time_in_python(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/reference.py"), &input).unwrap();
    println!("{:<38} {:>10} {:>10} {:>7} {:>6}", "", "karat ms", "python ms", "ratio", "goal");
    for Measured { what, reference, ours, goal } in &measured {
        let (theirs, ratio) = match python.get(*reference) {
            Some(theirs) => {
                // Random draws differ, so only the figures that draw nothing are equal.
                let is_drawn = !["alpha", "kappa"].contains(reference);
                let close = if is_drawn { 0.05 * ours.result } else { 1e-9 };
                assert!((theirs.result - ours.result).abs() <= close, "{what}: {theirs:?} against {ours:?}");
                (format!("{:.2}", 1e3 * theirs.seconds), format!("{:.1}", theirs.seconds / ours.seconds))
            }
            None => ("–".to_owned(), "–".to_owned()),
        };
        println!("{what:<38} {:>10.2} {theirs:>10} {ratio:>7} {goal:>6}", 1e3 * ours.seconds);
    }
    if python.is_empty() {
        println!("python: not measured; it wants python3 with numpy, scipy, scikit-learn and krippendorff");
    }
}
