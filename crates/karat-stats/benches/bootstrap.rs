//! `cargo bench -p karat-stats`: the resampling and ranking work that reports wait for.

use std::num::NonZeroUsize;

use divan::Bencher;
use karat_stats::bootstrap::{Resampling, bootstrap, bootstrap_mean, jackknife};
use karat_stats::compare::{WilcoxonZeros, sign_flip_exact, sign_flip_sampled, wilcoxon};
use karat_stats::describe::{mean, median};
use karat_stats::interval::Level;
use karat_stats::numeric::seed::Seed;
use karat_stats::power::{Alternative, paired_t_items};

fn main() {
    divan::main();
}

fn resampling(threads: usize) -> Resampling {
    Resampling { threads: NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN), ..Resampling::new(Seed(1)) }
}

/// `n` values without ties, spread over [0, 1).
fn continuous(n: usize) -> Vec<f64> {
    (0..n).map(|i| ((i as f64 + 0.5) * 0.618_033_988_749_895).fract()).collect()
}

/// `n` scores from 1 to 5 in equal shares; with `levels` = 2, pass or fail.
fn discrete(n: usize, levels: usize) -> Vec<f64> {
    (0..n).map(|i| (i % levels) as f64).collect()
}

#[divan::bench(args = [1, 2], sample_count = 10)]
fn mean_of_10_000_values(bencher: Bencher, threads: usize) {
    let values = continuous(10_000);
    bencher.bench(|| bootstrap_mean(&values, &resampling(threads)));
}

#[divan::bench(args = [100, 1_000, 40_000], sample_count = 10)]
fn mean_of_continuous_values(bencher: Bencher, n: usize) {
    let values = continuous(n);
    bencher.bench(|| bootstrap_mean(&values, &resampling(1)));
}

#[divan::bench(args = [2, 5, 10])]
fn mean_of_few_distinct_values(bencher: Bencher, levels: usize) {
    let values = discrete(10_000, levels);
    bencher.bench(|| bootstrap_mean(&values, &resampling(1)));
}

#[divan::bench(sample_count = 10)]
fn bca_of_the_median_of_200_values(bencher: Bencher) {
    let values = continuous(200);
    bencher.bench(|| {
        let distribution = bootstrap(&values, median, &resampling(1))?;
        Some(distribution.bca(&jackknife(&values, median)?, Level::P95))
    });
}

#[divan::bench]
fn jackknife_of_the_mean_of_1_000_values(bencher: Bencher) {
    let values = continuous(1_000);
    bencher.bench(|| jackknife(&values, mean));
}

#[divan::bench(args = [10, 20, 30])]
fn sign_flip_enumerated(bencher: Bencher, n: usize) {
    let values = continuous(n);
    bencher.bench(|| sign_flip_exact(&values));
}

#[divan::bench]
fn sign_flip_of_400_differences(bencher: Bencher) {
    let values = continuous(400);
    bencher.bench(|| sign_flip_sampled(&values, 10_000, Seed(1)));
}

#[divan::bench(args = [60, 1_000])]
fn signed_rank_test(bencher: Bencher, n: usize) {
    let values: Vec<f64> = continuous(n).iter().map(|x| x - 0.4).collect();
    bencher.bench(|| wilcoxon(&values, WilcoxonZeros::Pratt));
}

#[divan::bench]
fn items_for_a_paired_t_test(bencher: Bencher) {
    bencher.bench(|| paired_t_items(0.2, 0.8, Level::P95, Alternative::TwoSided));
}
