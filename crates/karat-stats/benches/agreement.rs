//! `cargo bench -p karat-stats --bench agreement`: judge against human on 100,000 items, at most
//! 2.5 ms each.

use divan::Bencher;
use karat_stats::agreement::{
    Contingency, Measurement, Ratings, Weighting, cohen_kappa, kendall_tau_b, krippendorff_alpha, score_indices,
    spearman,
};

/// The ratings of two raters, item by item.
fn pairs(judge: &[f64], human: &[f64]) -> Option<Ratings> {
    Ratings::from_units(judge.iter().zip(human).map(|(judge, human)| [*judge, *human])).ok()
}

fn main() {
    divan::main();
}

const ITEMS: usize = 100_000;
const SCALE: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];

/// Judge and human scores in `levels` steps from 1; the judge is off by one step in a third of the items.
fn scores(levels: usize) -> (Vec<f64>, Vec<f64>) {
    let step = |i: usize| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let human = (0..ITEMS).map(|i| step(i) % levels);
    let judge = (0..ITEMS).map(|i| (step(i) % levels + usize::from(step(i + ITEMS).is_multiple_of(3))).min(levels - 1));
    (judge.map(|s| 1.0 + s as f64).collect(), human.map(|s| 1.0 + s as f64).collect())
}

#[divan::bench]
fn quadratic_kappa_from_scores(bencher: Bencher) {
    let (judge, human) = scores(5);
    bencher.bench(|| {
        let a = score_indices("judge", &judge, &SCALE).ok()?;
        let b = score_indices("human", &human, &SCALE).ok()?;
        cohen_kappa(&Contingency::from_indices(&a, &b, SCALE.len()).ok()?, Weighting::Quadratic)
    });
}

#[divan::bench(args = [Measurement::Nominal, Measurement::Ordinal, Measurement::Interval, Measurement::Ratio])]
fn alpha_from_scores(bencher: Bencher, measurement: Measurement) {
    let (judge, human) = scores(5);
    bencher.bench(|| krippendorff_alpha(&pairs(&judge, &human)?, measurement).ok());
}

#[divan::bench(args = [Measurement::Ordinal, Measurement::Interval])]
fn alpha_of_nearly_distinct_scores(bencher: Bencher, measurement: Measurement) {
    let (judge, human) = scores(ITEMS / 2);
    bencher.bench(|| krippendorff_alpha(&pairs(&judge, &human)?, measurement).ok());
}

#[divan::bench]
fn spearman_of_scores(bencher: Bencher) {
    let (judge, human) = scores(5);
    bencher.bench(|| spearman(&judge, &human));
}

#[divan::bench]
fn kendall_of_scores(bencher: Bencher) {
    let (judge, human) = scores(5);
    bencher.bench(|| kendall_tau_b(&judge, &human));
}
