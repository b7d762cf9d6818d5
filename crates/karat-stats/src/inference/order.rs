//! Intervals of medians and percentiles by order statistics.

use crate::describe::{median, nearest_rank, sorted};
use crate::interval::Level;
use crate::numeric::special::Binomial;

/// A quantile with the ranks and values of its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileInterval {
    /// Number of values.
    pub n: usize,
    /// The nearest rank; the median as mean of two middles.
    pub value: f64,
    /// Rank of the lower end, from 1; `None` where it lies below the smallest value.
    pub rank_lower: Option<usize>,
    /// Rank of the upper end; `None` where it lies above the largest value.
    pub rank_upper: Option<usize>,
    /// The lower end; `None` is open.
    pub lo: Option<f64>,
    /// The upper end; `None` is open.
    pub hi: Option<f64>,
    /// The fewest values with a lower end: (1 − q)ⁿ ≤ α/2.
    pub fewest_for_lower: u64,
    /// The fewest values with an upper end: qⁿ ≤ α/2.
    pub fewest_for_upper: u64,
}

/// The quantile `q`, strictly between 0 and 1, of independent values: from rank qbinom(α/2; n, q) to
/// qbinom(1 − α/2; n, q) + 1; an end beyond the data is open. `None` for no values.
pub fn quantile_interval(values: &[f64], q: f64, level: Level) -> Option<QuantileInterval> {
    let tail = 0.5 * level.alpha();
    let counts = Binomial::new(values.len() as u64, q)?;
    let lower = binomial_quantile(&counts, values.len(), tail);
    let upper = binomial_quantile(&counts, values.len(), 1.0 - tail) + 1;
    between_ranks(values, q, level, (lower, upper))
}

/// The same for dependent values: from the ends of the interval of the rate of values that are at most the quantile,
/// back to the ranks ⌊lo·n⌋ and ⌈hi·n⌉ + 1.
pub fn quantile_interval_by_rate(values: &[f64], q: f64, rate: (f64, f64), level: Level) -> Option<QuantileInterval> {
    let n = values.len() as f64;
    let rank = |share: f64| (share.clamp(0.0, 1.0) * n).max(0.0);
    let ranks = ((rank(rate.0) + 1e-9).floor() as usize, (rank(rate.1) - 1e-9).ceil() as usize + 1);
    between_ranks(values, q, level, ranks)
}

fn between_ranks(values: &[f64], q: f64, level: Level, ranks: (usize, usize)) -> Option<QuantileInterval> {
    let ascending = sorted(values);
    let is_median = (q - 0.5).abs() <= 0.0;
    let value = if is_median { median(values) } else { nearest_rank(&ascending, q) }?;
    let at = |rank: usize| ascending.get(rank.checked_sub(1)?).copied();
    let known = |rank: usize| Some(rank).filter(|rank| at(*rank).is_some());
    let fewest = |share: f64| ((0.5 * level.alpha()).ln() / share.ln() - 1e-9).ceil().max(1.0) as u64;
    Some(QuantileInterval {
        n: values.len(),
        value,
        rank_lower: known(ranks.0),
        rank_upper: known(ranks.1),
        lo: at(ranks.0),
        hi: at(ranks.1),
        fewest_for_lower: fewest(1.0 - q),
        fewest_for_upper: fewest(q),
    })
}

/// The smallest k with P(X ≤ k) ≥ p.
fn binomial_quantile(counts: &Binomial, n: usize, p: f64) -> usize {
    let (mut below, mut reached) = (0, n);
    while below < reached {
        let middle = below + (reached - below) / 2;
        if counts.cdf(middle as u64) >= p {
            reached = middle;
        } else {
            below = middle + 1;
        }
    }
    reached
}
