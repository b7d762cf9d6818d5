//! A random draw of rows that are looked at once.
//!
//! Each row has a rank that follows from the seed and its id; of a stratum the rows of lowest rank are drawn. So a draw does
//! not depend on the order of rows, and a longer set changes it as little as possible. Memory holds at most `n` ranks a
//! stratum, and 12 bytes for each id.

use std::collections::{BTreeMap, BinaryHeap};

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::allocation::{Allocation, shares};
use crate::hash::{hash_bytes, join, mix};

/// A draw under way.
pub struct RowSampler {
    n: u64,
    seed: u64,
    rows: u64,
    /// How often each id was seen: rows of one id are drawn independently of each other.
    seen: FxHashMap<u64, u32>,
    strata: BTreeMap<String, Stratum>,
}

#[derive(Default)]
struct Stratum {
    rows: u64,
    /// The lowest ranks, with their rows.
    lowest: BinaryHeap<(u64, u64)>,
    spread: RunningSpread,
}

/// Rows of a stratum, those that it was asked for, and those that were drawn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StratumCount {
    /// The value of the column.
    pub stratum: String,
    /// Its rows.
    pub rows: u64,
    /// The rows that it should give.
    pub asked: u64,
    /// The rows that it gave: fewer where it has no more.
    pub got: u64,
    /// Standard deviation of the metric, where the allocation needs it and the stratum has two values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
}

impl StratumCount {
    /// Returns whether the stratum has fewer rows than it should give.
    pub fn is_short(&self) -> bool {
        self.got < self.asked
    }
}

/// The rows of a draw.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnRows {
    /// Their numbers, ascending.
    pub rows: Vec<u64>,
    /// The same rows in the order of the draw: each beginning of it is a draw too.
    pub by_rank: Vec<u64>,
    /// The strata, by value; one without a name where there are no strata.
    pub strata: Vec<StratumCount>,
}

impl RowSampler {
    /// A draw of `n` rows.
    pub fn new(n: u64, seed: u64) -> Self {
        Self { n, seed, rows: 0, seen: FxHashMap::default(), strata: BTreeMap::new() }
    }

    /// Adds the next row, with the value of its metric.
    pub fn add(&mut self, stratum: &str, id: &str, value: Option<f64>) {
        let row = self.rows;
        self.rows += 1;
        let id = hash_bytes(1, id.as_bytes());
        let earlier = self.seen.entry(id).or_default();
        let rank = mix(join(join(mix(self.seed), id), u64::from(*earlier)));
        *earlier += 1;
        let stratum = match self.strata.get_mut(stratum) {
            Some(known) => known,
            None => self.strata.entry(stratum.to_owned()).or_default(),
        };
        stratum.rows += 1;
        stratum.spread.add(value);
        stratum.lowest.push((rank, row));
        if stratum.lowest.len() as u64 > self.n {
            stratum.lowest.pop();
        }
    }

    /// The rows that are drawn. A stratum that is short is not padded from others.
    pub fn finish(self, allocation: Allocation) -> DrawnRows {
        // Of more rows than there are, each gives all it has, and no stratum is short.
        let n = if allocation == Allocation::Proportional { self.n.min(self.rows) } else { self.n };
        let weights = self.weights(allocation);
        let asked = shares(&weights, n, u64::from(allocation == Allocation::Neyman));
        let mut drawn = Vec::new();
        let mut strata = Vec::new();
        for ((name, stratum), asked) in self.strata.into_iter().zip(asked) {
            let deviation = stratum.spread.deviation().filter(|_| allocation == Allocation::Neyman);
            let ranked = stratum.lowest.into_sorted_vec();
            let got = asked.min(ranked.len() as u64);
            drawn.extend(ranked.into_iter().take(got as usize));
            strata.push(StratumCount { stratum: name, rows: stratum.rows, asked, got, deviation });
        }
        drawn.sort_unstable();
        let by_rank: Vec<u64> = drawn.into_iter().map(|(_, row)| row).collect();
        let mut rows = by_rank.clone();
        rows.sort_unstable();
        DrawnRows { rows, by_rank, strata }
    }

    fn weights(&self, allocation: Allocation) -> Vec<f64> {
        let strata = self.strata.values();
        match allocation {
            Allocation::Proportional => strata.map(|stratum| stratum.rows as f64).collect(),
            Allocation::Equal => strata.map(|_| 1.0).collect(),
            Allocation::Neyman => {
                // A stratum with less than two values is taken to spread as all of them together.
                let mut pooled = RunningSpread::default();
                self.strata.values().for_each(|stratum| pooled.merge(&stratum.spread));
                let pooled = pooled.deviation().unwrap_or(0.0);
                let of = |stratum: &Stratum| stratum.rows as f64 * stratum.spread.deviation().unwrap_or(pooled);
                let weights: Vec<f64> = strata.map(of).collect();
                match weights.iter().any(|weight| *weight > 0.0) {
                    true => weights,
                    false => self.strata.values().map(|stratum| stratum.rows as f64).collect(),
                }
            }
        }
    }
}

/// Mean and squared deviations of values that are seen once (B. P. Welford, 1962).
#[derive(Debug, Clone, Copy, Default)]
struct RunningSpread {
    n: f64,
    mean: f64,
    squares: f64,
}

impl RunningSpread {
    fn add(&mut self, value: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite()) else { return };
        self.n += 1.0;
        let delta = value - self.mean;
        self.mean += delta / self.n;
        self.squares += delta * (value - self.mean);
    }

    fn merge(&mut self, other: &Self) {
        let n = self.n + other.n;
        if other.n == 0.0 {
            return;
        }
        let delta = other.mean - self.mean;
        self.squares += other.squares + delta * delta * self.n * other.n / n;
        self.mean += delta * other.n / n;
        self.n = n;
    }

    fn deviation(&self) -> Option<f64> {
        (self.n >= 2.0).then(|| (self.squares / (self.n - 1.0)).max(0.0).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_merge_to_that_of_all_values() {
        let spread = |values: &[f64]| {
            let mut spread = RunningSpread::default();
            values.iter().for_each(|value| spread.add(Some(*value)));
            spread
        };
        let mut merged = spread(&[1.0, 2.0]);
        merged.merge(&spread(&[]));
        merged.merge(&spread(&[6.0, f64::NAN, 9.0]));
        let all = spread(&[1.0, 2.0, 6.0, 9.0]);
        assert!((merged.deviation().unwrap() - all.deviation().unwrap()).abs() < 1e-12);
        assert_eq!(spread(&[1.0]).deviation(), None);
    }
}
