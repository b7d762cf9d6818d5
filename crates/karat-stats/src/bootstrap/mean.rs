//! Bootstrapping means, where nothing but the sum of a resample is needed.

use super::{
    Distribution,
    binomial::multinomial,
    draws::{Draws, width},
    resample::{Resampling, replicate},
};
use crate::describe::mean;

/// Up to this many distinct values, the number of each is drawn instead of the items.
const MAX_DISTINCT: usize = 32;

/// Drawing one count costs about as much as drawing this many items.
const ITEMS_PER_COUNT: usize = 32;

/// Batches summed before their total is carried over, so that rounding errors stay short.
const BLOCK: usize = 256;

/// Bootstraps the mean. `None` for no values or one that is not finite.
///
/// Pass rates and Likert scores have few distinct values: there a resample is one multinomial draw
/// of their counts, which has the same distribution at a fraction of the work.
pub fn bootstrap_mean(values: &[f64], resampling: &Resampling) -> Option<Distribution> {
    let estimate = mean(values)?;
    let n = values.len();
    let replicates = match Tally::of(values) {
        Some(tally) => replicate(resampling, |draws| tally.drawn_sum(draws) / n as f64),
        None => replicate(resampling, |draws| drawn_sum(draws, values) / n as f64),
    };
    Distribution::new(estimate, replicates)
}

/// Σ of as many values as there are, drawn with replacement.
fn drawn_sum(draws: &mut Draws, values: &[f64]) -> f64 {
    match width(values.len()) {
        6 => drawn_sum_by::<6>(draws, values),
        4 => drawn_sum_by::<4>(draws, values),
        3 => drawn_sum_by::<3>(draws, values),
        2 => drawn_sum_by::<2>(draws, values),
        _ => drawn_sum_by::<1>(draws, values),
    }
}

/// [`drawn_sum`] with `K` indices per random word, each in a lane of its own: additions need not
/// wait for each other.
fn drawn_sum_by<const K: usize>(draws: &mut Draws, values: &[f64]) -> f64 {
    let n = values.len();
    let mut total = 0.0;
    let mut batches = n / K;
    while batches > 0 {
        let block = batches.min(BLOCK);
        let mut lanes = [0.0; K];
        draws.batches::<K>(n, block, |indices| {
            for (lane, index) in lanes.iter_mut().zip(indices) {
                *lane += values[index];
            }
        });
        total += lanes.iter().sum::<f64>();
        batches -= block;
    }
    draws.batches::<1>(n, n % K, |[index]| total += values[index]);
    total
}

/// The distinct values of a sample and how often each occurs.
struct Tally {
    values: Vec<f64>,
    counts: Vec<u64>,
}

impl Tally {
    /// `None` when there are so many distinct values that drawing items is cheaper.
    fn of(values: &[f64]) -> Option<Self> {
        let limit = MAX_DISTINCT.min(values.len() / ITEMS_PER_COUNT);
        let mut tally = Self { values: Vec::new(), counts: Vec::new() };
        for value in values {
            match tally.values.binary_search_by(|known| known.total_cmp(value)) {
                Ok(at) => tally.counts[at] += 1,
                Err(_) if tally.values.len() == limit => return None,
                Err(at) => {
                    tally.values.insert(at, *value);
                    tally.counts.insert(at, 1);
                }
            }
        }
        Some(tally)
    }

    fn drawn_sum(&self, draws: &mut Draws) -> f64 {
        let n = self.counts.iter().sum();
        let mut total = 0.0;
        multinomial(draws, n, &self.counts, |category, drawn| total += drawn as f64 * self.values[category]);
        total
    }
}
