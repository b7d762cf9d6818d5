//! BC-01, BC-02: draws are uniform, strata get what they are asked for, and diverse rows are far from each other.

use karat_dataset::sample::{Allocation, DiverseSampler, RowSampler};
use karat_stats::numeric::special::ChiSquared;

use crate::texts::Numbers;

/// BC-01: over 1,000 seeds each row is drawn equally often (chi-square, p > 0.001), and so are rows of one id.
#[test]
fn a_draw_is_uniform_over_seeds() {
    const ROWS: usize = 50;
    const DRAWN: u64 = 10;
    let mut counts = [0_u32; ROWS];
    for seed in 0..1000 {
        let mut sampler = RowSampler::new(DRAWN, seed);
        // The last ten rows share an id.
        (0..ROWS).for_each(|row| sampler.add("", &format!("row {}", row.min(40)), None));
        let drawn = sampler.finish(Allocation::Proportional);
        assert_eq!(drawn.rows.len() as u64, DRAWN);
        drawn.rows.iter().for_each(|row| counts[*row as usize] += 1);
    }
    let expected = 1000.0 * DRAWN as f64 / ROWS as f64;
    let chi_square: f64 = counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
    // Drawing without replacement shrinks the statistic by (N − n) / (N − 1).
    let chi_square = chi_square * (ROWS as f64 - 1.0) / (ROWS as f64 - DRAWN as f64);
    let p = ChiSquared::new(ROWS as f64 - 1.0).unwrap().sf(chi_square);
    assert!(p > 0.001 && p < 0.999, "p = {p:.5}, chi-square {chi_square:.1}: {counts:?}");
}

/// BC-01: a draw does not depend on the order of the rows, and a longer set changes little of it.
#[test]
fn a_draw_follows_from_seed_and_ids() {
    let drawn = |order: &[usize], seed| {
        let mut sampler = RowSampler::new(20, seed);
        order.iter().for_each(|id| sampler.add("", &id.to_string(), None));
        let mut ids: Vec<usize> = sampler.finish(Allocation::Proportional).rows.iter().map(|row| order[*row as usize]).collect();
        ids.sort_unstable();
        ids
    };
    let order: Vec<usize> = (0..200).collect();
    let turned: Vec<usize> = order.iter().rev().copied().collect();
    assert_eq!(drawn(&order, 7), drawn(&turned, 7));
    assert_ne!(drawn(&order, 7), drawn(&order, 8));
    let longer: Vec<usize> = (0..220).collect();
    let stays = drawn(&longer, 7).iter().filter(|id| drawn(&order, 7).contains(id)).count();
    assert!(stays >= 14, "{stays} of 20 stayed");
}

fn strata(n: u64, allocation: Allocation) -> Vec<(String, u64, u64, u64)> {
    let mut sampler = RowSampler::new(n, 3);
    let mut numbers = Numbers(1);
    for row in 0..1000 {
        let (stratum, value) = match row {
            0..700 => ("common", 0.5),
            700..990 => ("wide", numbers.below(100) as f64),
            _ => ("rare", 0.5),
        };
        sampler.add(stratum, &row.to_string(), Some(value));
    }
    let drawn = sampler.finish(allocation);
    assert_eq!(drawn.rows.len() as u64, drawn.strata.iter().map(|stratum| stratum.got).sum::<u64>());
    drawn.strata.into_iter().map(|it| (it.stratum, it.rows, it.asked, it.got)).collect()
}

/// BC-01: each stratum says what it was asked for and what it gave; one that is short is named and not padded.
#[test]
fn short_strata_are_named_and_not_padded() {
    let row = |name: &str, rows, asked, got| (name.to_owned(), rows, asked, got);
    let proportional = strata(100, Allocation::Proportional);
    assert_eq!(proportional, [row("common", 700, 70, 70), row("rare", 10, 1, 1), row("wide", 290, 29, 29)]);
    let equal = strata(90, Allocation::Equal);
    assert_eq!(equal, [row("common", 700, 30, 30), row("rare", 10, 30, 10), row("wide", 290, 30, 30)]);
    let all = strata(5000, Allocation::Proportional);
    assert!(all.iter().all(|(_, rows, asked, got)| rows == asked && asked == got));
}

/// BC-01: Neyman's allocation takes most where the metric spreads, and a row at least of each stratum.
#[test]
fn neymans_allocation_follows_the_spread() {
    let neyman = strata(100, Allocation::Neyman);
    assert_eq!(neyman.iter().map(|(_, _, asked, _)| *asked).collect::<Vec<_>>(), [1, 1, 98]);
}

/// BC-02: on planted clusters, diverse rows are farther from each other than random ones, and each cluster is met.
#[test]
fn diverse_rows_are_farther_apart_than_random_ones() {
    let mut numbers = Numbers(21);
    let clusters: Vec<Vec<String>> = (0..20).map(|_| numbers.words(30)).collect();
    let mut pool = DiverseSampler::default();
    let mut cluster_of = Vec::new();
    for at in 0..200 {
        // Clusters of very different sizes: random rows are mostly of the first ones.
        let cluster = if at < 20 { at } else { numbers.below(3) };
        pool.add(&numbers.edited(&clusters[cluster], 0.05).join(" "));
        cluster_of.push(cluster);
    }
    let (taken, mean) = pool.take(20, 150);
    let mut met: Vec<usize> = taken.iter().map(|at| cluster_of[*at]).collect();
    met.sort_unstable();
    met.dedup();
    assert_eq!((taken.len(), met.len()), (20, 20));
    let random: Vec<usize> = (100..120).collect();
    assert!(mean.unwrap() > 2.0 * pool.mean_nearest(&random).unwrap());
    assert_eq!(pool.take(20, 150), pool.take(20, 150));
}

/// BC-02: copies are not taken twice, and no more rows than there are.
#[test]
fn diverse_rows_are_never_copies() {
    let mut pool = DiverseSampler::default();
    assert_eq!(pool.take(3, 0), (vec![], None));
    ["one text", "another thing", "one text"].iter().for_each(|text| pool.add(text));
    let (taken, mean) = pool.take(3, 2);
    assert_eq!(taken, [2, 1]);
    assert!(mean.is_some());
}
