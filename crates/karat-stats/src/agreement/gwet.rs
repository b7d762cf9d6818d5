//! Gwet's AC1 and AC2.

use super::{CountTable, Weighting};

/// Gwet's agreement coefficient with its parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GwetAc {
    /// (pa − pe) / (1 − pe): AC1 with [`Weighting::Identity`], AC2 otherwise.
    pub coefficient: f64,
    /// Observed (weighted) agreement, over items with at least two ratings.
    pub observed: f64,
    /// Chance agreement.
    pub chance: f64,
    /// Standard error over random items, raters fixed, no finite-population correction; `None` for
    /// fewer than two items.
    pub standard_error: Option<f64>,
}

/// Gwet's AC1/AC2: pe = T_w / (q(q−1)) · Σ π_k(1−π_k), T_w the sum of all weights, q the number of
/// *declared* categories (Gwet 2008, 2014).
///
/// Stable where nearly all ratings are in one category, where kappa is not. Items with one rating
/// count for π_k but not for pa; items without any are ignored. `None` when no item has two ratings
/// or fewer than two categories are declared.
pub fn gwet_ac(table: &CountTable, weighting: Weighting) -> Option<GwetAc> {
    let q = table.categories();
    if q < 2 {
        return None;
    }
    let items: Vec<Item> = table.items().filter_map(|counts| Item::new(counts, weighting)).collect();
    let n = items.len() as f64;
    let n_paired = items.iter().filter(|item| item.agreement.is_some()).count() as f64;
    if n_paired < 1.0 {
        return None;
    }
    let observed = items.iter().filter_map(|item| item.agreement).sum::<f64>() / n_paired;
    let share: Vec<f64> = (0..q).map(|k| items.iter().map(|item| item.share(k)).sum::<f64>() / n).collect();
    let weights: f64 = (0..q).map(|i| (0..q).map(|j| weighting.agreement(i, j, q)).sum::<f64>()).sum();
    let scale = weights / (q * (q - 1)) as f64;
    let chance = scale * share.iter().map(|p| p * (1.0 - p)).sum::<f64>();
    let coefficient = (observed - chance) / (1.0 - chance);

    let influence = |item: &Item| {
        let own = item.agreement.map_or(0.0, |agreement| agreement - chance);
        let own_chance = scale * (0..q).map(|k| item.share(k) * (1.0 - share[k])).sum::<f64>();
        let shift = 2.0 * (1.0 - coefficient) * (own_chance - chance) / (1.0 - chance);
        n / n_paired * own / (1.0 - chance) - shift - coefficient
    };
    let standard_error = (items.len() > 1).then(|| {
        let spread: f64 = items.iter().map(|item| influence(item).powi(2)).sum();
        (spread / (n * (n - 1.0))).sqrt()
    });
    Some(GwetAc { coefficient, observed, chance, standard_error })
}

/// One item with at least one rating.
struct Item<'a> {
    counts: &'a [u64],
    ratings: f64,
    /// Weighted share of agreeing pairs; `None` with a single rating.
    agreement: Option<f64>,
}

impl<'a> Item<'a> {
    fn new(counts: &'a [u64], weighting: Weighting) -> Option<Self> {
        let total: u64 = counts.iter().sum();
        let ratings = total as f64;
        let q = counts.len();
        let agreeing = || -> f64 {
            (0..q)
                .map(|k| {
                    let with: f64 = (0..q).map(|l| weighting.agreement(k, l, q) * counts[l] as f64).sum();
                    counts[k] as f64 * (with - 1.0)
                })
                .sum()
        };
        (total > 0).then(|| Self {
            counts,
            ratings,
            agreement: (total > 1).then(|| agreeing() / (ratings * (ratings - 1.0))),
        })
    }

    fn share(&self, category: usize) -> f64 {
        self.counts[category] as f64 / self.ratings
    }
}
