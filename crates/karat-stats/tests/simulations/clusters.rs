//! Clusters of any size: coverage of means and rates, and false decisions about changes.

use karat_stats::describe::clustered_mean;
use karat_stats::inference::{Change, Clusters, DECIDABLE_DF, cluster_rate, robust_mean};
use karat_stats::interval::{Interval, Level};
use karat_stats::numeric::seed::Seed;

use crate::draw::{Draw, share};

/// The clusters' sizes of a design, by name.
fn designs() -> Vec<(&'static str, Vec<usize>)> {
    let zipf = |n: usize| (1..=n).map(|j| ((60.0 / j as f64).round() as usize).max(1)).collect::<Vec<_>>();
    let with = |large: &[usize], n: usize, small: usize| [large, &vec![small; n]].concat();
    let mut draw = Draw::new(71, 0);
    vec![
        ("8 of 10", vec![10; 8]),
        ("20 of 5", vec![5; 20]),
        ("50 of 5", vec![5; 50]),
        ("6 of 5", vec![5; 6]),
        ("30 of 5", vec![5; 30]),
        ("60/j, 8", zipf(8)),
        ("60/j, 20", zipf(20)),
        ("60/j, 50", zipf(50)),
        ("100 of 1 to 9", (0..100).map(|_| 1 + draw.below(9)).collect()),
        ("20 and ten of 1", with(&[20], 10, 1)),
        ("60 and twenty of 2", with(&[60], 20, 2)),
        ("40 20 10 5 and falling", vec![40, 20, 10, 5, 5, 2, 2, 2, 1, 1, 1, 1]),
        ("29 and 1", vec![29, 1]),
        ("1 1 1 50", vec![1, 1, 1, 50]),
        ("30 20 20 10 10 and eight of 5", with(&[30, 20, 20, 10, 10], 8, 5)),
        ("200 and a hundred of 2", with(&[200], 100, 2)),
    ]
}

fn clusters(sizes: &[usize]) -> Clusters {
    let labels: Vec<usize> = sizes.iter().enumerate().flat_map(|(at, size)| vec![at; *size]).collect();
    Clusters::new(&labels)
}

/// Normal values with this intraclass correlation.
fn normals(draw: &mut Draw, clusters: &Clusters, icc: f64) -> Vec<f64> {
    let effects: Vec<f64> = (0..clusters.len()).map(|_| icc.sqrt() * draw.normal()).collect();
    clusters.of().iter().map(|at| effects[*at] + (1.0 - icc).sqrt() * draw.normal()).collect()
}

/// Passes and fails with this rate and intraclass correlation.
fn outcomes(draw: &mut Draw, clusters: &Clusters, rate: f64, icc: f64) -> Vec<f64> {
    let size = (1.0 - icc) / icc;
    let rates: Vec<f64> = (0..clusters.len()).map(|_| if icc > 0.0 { draw.beta(rate, size) } else { rate }).collect();
    clusters.of().iter().map(|at| draw.passes(rates[*at])).collect()
}

/// The share of runs in which the interval of the mean holds 0, also of CR1 with t of G − 1, and its degrees of freedom.
fn mean_coverage(runs: u64, sizes: &[usize], icc: f64) -> (f64, f64, f64) {
    let clusters = clusters(sizes);
    let (mut df, mut by_cr1) = (0.0, 0);
    let covered = share(runs, |run| {
        let values = normals(&mut Draw::new(73, run), &clusters, icc);
        by_cr1 += u64::from(cr1(&values, &clusters).contains(0.0));
        let found = robust_mean(&values, &clusters, Level::P95).unwrap();
        df = found.df.unwrap();
        found.interval.unwrap().contains(0.0)
    });
    (covered, by_cr1 as f64 / runs as f64, df)
}

/// The interval that clustered means usually have.
fn cr1(values: &[f64], clusters: &Clusters) -> Interval {
    clustered_mean(values, clusters.of(), Level::P95).unwrap().interval.unwrap()
}

fn rate_coverage(runs: u64, sizes: &[usize], rate: f64, icc: f64) -> f64 {
    let clusters = clusters(sizes);
    share(runs, |run| {
        let values = outcomes(&mut Draw::new(79, run), &clusters, rate, icc);
        let passes = values.iter().filter(|it| **it > 0.0).count();
        let found = cluster_rate(&values, passes, &clusters, 1, Level::P95).unwrap().unwrap();
        found.interval.unwrap().contains(rate)
    })
}

/// The share of runs without a change that are decided at 95 %, also by CR1 with t of G − 1.
fn false_decisions(runs: u64, sizes: &[usize], icc: f64) -> (f64, f64) {
    let labels = clusters(sizes);
    let mut by_cr1 = 0;
    let decided = share(runs, |run| {
        let values = normals(&mut Draw::new(83, run), &labels, icc);
        by_cr1 += u64::from(!cr1(&values, &labels).contains(0.0));
        let change = Change::of_differences(values, None, Some(labels.clone())).unwrap();
        let change = change.with_draws(Seed(run), Level::P95);
        change.interval(Level::P95).is_some_and(|it| !it.contains(0.0))
    });
    (decided, by_cr1 as f64 / runs as f64)
}

/// Two Monte-Carlo errors of a share near `p`.
fn error(p: f64, runs: u64) -> f64 {
    2.0 * (p * (1.0 - p) / runs as f64).sqrt()
}

fn check_means(runs: u64, iccs: &[f64]) {
    for (name, sizes) in designs() {
        for icc in iccs {
            let (covered, by_cr1, df) = mean_coverage(runs, &sizes, *icc);
            let shown = [covered, by_cr1].map(|share| 100.0 * share);
            println!("mean     {name:32} ICC {icc:.1}  df {df:5.1}  covers {:5.1} %, CR1 {:5.1} %", shown[0], shown[1]);
            assert!(df < DECIDABLE_DF || covered >= 0.93 - error(0.93, runs), "{name}, ICC {icc}: {covered}");
        }
    }
}

fn check_rates(runs: u64, iccs: &[f64]) {
    for (name, sizes) in designs().into_iter().take(9) {
        for rate in [0.5, 0.9, 0.97] {
            for icc in iccs {
                let covered = rate_coverage(runs, &sizes, rate, *icc);
                println!("rate     {name:32} ICC {icc:.1}  rate {rate:.2}  covers {:5.1} %", 100.0 * covered);
                let least = if *icc <= 0.3 { 0.93 } else { 0.86 };
                assert!(covered >= least - error(least, runs), "{name}, ICC {icc}, rate {rate}: {covered}");
            }
        }
    }
}

fn check_changes(runs: u64, iccs: &[f64]) {
    for (name, sizes) in designs() {
        for icc in iccs {
            let (decided, by_cr1) = false_decisions(runs, &sizes, *icc);
            let shown = [decided, by_cr1].map(|share| 100.0 * share);
            println!("change   {name:32} ICC {icc:.1}  decided {:4.1} %, CR1 {:4.1} %", shown[0], shown[1]);
            let most = if sizes.len() < 6 { 0.0 } else { 0.06 };
            assert!(decided <= most + error(most, runs), "{name}, ICC {icc}: {decided}");
        }
    }
}

/// DC-10: intervals of clustered means cover from 4 degrees of freedom on.
#[test]
fn clustered_means_cover() {
    check_means(200, &[0.3]);
}

/// DC-11: intervals of clustered rates cover.
#[test]
fn clustered_rates_cover() {
    check_rates(100, &[0.3]);
}

/// DC-02: changes of clusters of any size are seldom decided without a change; too few clusters never.
#[test]
fn clusters_without_a_change_are_seldom_decided() {
    check_changes(40, &[0.4]);
}

/// DC-11: no rate looks better than that of all passes with the same clusters.
#[test]
fn all_passes_never_look_worse() {
    all_passes(300);
}

fn all_passes(tables: u64) {
    for run in 0..tables {
        let mut draw = Draw::new(89, run);
        let sizes: Vec<usize> = (0..2 + draw.below(20)).map(|_| 1 + draw.below(12)).collect();
        let clusters = clusters(&sizes);
        let rate = 0.6 + 0.4 * draw.uniform();
        let values = outcomes(&mut draw, &clusters, rate, 0.3);
        let of = |values: &[f64]| {
            let passes = values.iter().filter(|it| **it > 0.0).count();
            cluster_rate(values, passes, &clusters, 1, Level::P95).unwrap().unwrap().interval.unwrap()
        };
        let (own, all) = (of(&values), of(&vec![1.0; values.len()]));
        assert!(own.lo <= all.lo && own.hi <= all.hi + 1e-12, "{sizes:?}: {own:?} {all:?}");
    }
}

/// Longer forms of the tests above.
mod long {
    use super::*;

    /// DC-02, DC-10, DC-11: the whole table.
    #[test]
    #[ignore = "minutes: scripts/test --long"]
    fn full_table_of_clusters() {
        all_passes(10_000);
        check_means(2_000, &[0.0, 0.3, 0.6]);
        check_rates(1_000, &[0.0, 0.3, 0.6]);
        check_changes(800, &[0.0, 0.4]);
    }
}
