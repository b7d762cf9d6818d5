//! Kendall's rank correlation tau-b.

use crate::numeric::input::{InputError, finite_pairs};
use crate::numeric::special::normal_sf;

/// Kendall's τ-b with its p-values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KendallTau {
    /// τ-b = (C − D)/√((n0 − n1)(n0 − n2)), n0 all pairs, n1 and n2 those tied in x and in y.
    pub tau_b: f64,
    /// Normal approximation with the variance corrected for ties; `None` for fewer than three pairs.
    pub p_asymptotic: Option<f64>,
    /// Exact permutation p-value; `None` with ties, for fewer than three pairs and above 200 pairs.
    pub p_exact: Option<f64>,
}

/// Above this many pairs the exact null distribution is not worth its cubic time.
const EXACT_UP_TO: usize = 500;

/// Kendall's tau-b in O(n log n) (Knight 1966).
///
/// `None` for fewer than two pairs or when one side is constant.
///
/// # Errors
/// Slices of different length, values that are not finite.
pub fn kendall_tau_b(x: &[f64], y: &[f64]) -> Result<Option<KendallTau>, InputError> {
    finite_pairs(("x", x), ("y", y))?;
    let n = x.len();
    let mut pairs: Vec<(f64, f64)> = x.iter().zip(y).map(|(&a, &b)| (a + 0.0, b + 0.0)).collect();
    pairs.sort_by(|p, q| p.0.total_cmp(&q.0).then(p.1.total_cmp(&q.1)));
    let in_x = Ties::of(pairs.chunk_by(|p, q| p.0 >= q.0).map(<[_]>::len));
    let in_both = Ties::of(pairs.chunk_by(|p, q| p.0 >= q.0 && p.1 >= q.1).map(<[_]>::len));
    let mut by_y: Vec<f64> = pairs.iter().map(|p| p.1).collect();
    let discordant = sort_counting_swaps(&mut by_y);
    let in_y = Ties::of(by_y.chunk_by(|a, b| a >= b).map(<[_]>::len));

    let all = (n as f64) * (n as f64 - 1.0) / 2.0;
    let untied = (all - in_x.pairs) * (all - in_y.pairs);
    if untied <= 0.0 {
        return Ok(None);
    }
    let excess = all - in_x.pairs - in_y.pairs + in_both.pairs - 2.0 * discordant as f64;
    let tau_b = excess / (all - in_x.pairs).sqrt() / (all - in_y.pairs).sqrt();
    let no_ties = in_x.pairs + in_y.pairs <= 0.0;
    Ok(Some(KendallTau {
        tau_b: tau_b.clamp(-1.0, 1.0),
        p_asymptotic: (n > 2).then(|| asymptotic_p(n as f64, excess, &in_x, &in_y)),
        p_exact: (no_ties && n > 2 && n <= EXACT_UP_TO).then(|| exact_p(n, discordant as usize)),
    }))
}

/// Sums over the groups of tied values of size t.
struct Ties {
    /// Σ t(t−1)/2.
    pairs: f64,
    /// Σ t(t−1)(t−2).
    triples: f64,
    /// Σ t(t−1)(2t+5).
    variance: f64,
}

impl Ties {
    fn of(sizes: impl Iterator<Item = usize>) -> Self {
        let mut ties = Self { pairs: 0.0, triples: 0.0, variance: 0.0 };
        for t in sizes.map(|size| size as f64) {
            ties.pairs += t * (t - 1.0) / 2.0;
            ties.triples += t * (t - 1.0) * (t - 2.0);
            ties.variance += t * (t - 1.0) * (2.0 * t + 5.0);
        }
        ties
    }
}

/// Kendall 1970, with both margins' ties.
fn asymptotic_p(n: f64, excess: f64, x: &Ties, y: &Ties) -> f64 {
    let m = n * (n - 1.0);
    let variance = (m * (2.0 * n + 5.0) - x.variance - y.variance) / 18.0
        + 2.0 * x.pairs * y.pairs / m
        + x.triples * y.triples / (9.0 * m * (n - 2.0));
    (2.0 * normal_sf(excess.abs() / variance.sqrt())).min(1.0)
}

/// Both tails of the number of inversions of a random permutation.
fn exact_p(n: usize, discordant: usize) -> f64 {
    let smaller = discordant.min(n * (n - 1) / 2 - discordant);
    // Probabilities of 0..=smaller inversions, one element inserted at a time.
    let mut probability = vec![0.0; smaller + 1];
    probability[0] = 1.0;
    for size in 2..=n {
        let mut window = 0.0;
        let mut next = vec![0.0; smaller + 1];
        for (inversions, slot) in next.iter_mut().enumerate() {
            window += probability[inversions];
            if inversions >= size {
                window -= probability[inversions - size];
            }
            *slot = window / size as f64;
        }
        probability = next;
    }
    (2.0 * probability.iter().sum::<f64>()).min(1.0)
}

/// Merge sort; returns the number of pairs that were in strictly descending order.
fn sort_counting_swaps(values: &mut [f64]) -> u64 {
    let middle = values.len() / 2;
    if middle == 0 {
        return 0;
    }
    let (left, right) = values.split_at_mut(middle);
    let mut swaps = sort_counting_swaps(left) + sort_counting_swaps(right);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let mut i = 0;
    for &value in right.iter() {
        while i < left.len() && left[i] <= value {
            merged.push(left[i]);
            i += 1;
        }
        swaps += (left.len() - i) as u64;
        merged.push(value);
    }
    merged.extend_from_slice(&left[i..]);
    values.copy_from_slice(&merged);
    swaps
}
