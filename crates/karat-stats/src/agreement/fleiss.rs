//! Fleiss' kappa and Randolph's free-marginal kappa.

use super::CountTable;
use crate::numeric::input::InputError;

/// Agreement of a panel in which every item has the same number of ratings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FleissKappa {
    /// Number of items.
    pub n_items: usize,
    /// Ratings per item.
    pub n_raters: u64,
    /// κ = (P̄ − P̄e) / (1 − P̄e); `None` when only one category was used.
    pub fleiss: Option<f64>,
    /// The same with chance agreement 1/q (Randolph 2005); `None` for fewer than two categories.
    pub randolph: Option<f64>,
    /// P̄, the mean share of agreeing pairs of raters.
    pub mean_agreement: Option<f64>,
}

/// Fleiss' kappa (Fleiss 1971). Everything is `None` without items or with fewer than two raters.
///
/// # Errors
/// [`InputError::Ragged`] when an item has another number of ratings than the first: use
/// [`krippendorff_alpha`](super::krippendorff_alpha) for panels with gaps.
pub fn fleiss_kappa(table: &CountTable) -> Result<FleissKappa, InputError> {
    let items = table.items();
    let n_items = items.len();
    let n_raters: u64 = items.clone().next().map_or(0, |row| row.iter().sum());
    for (row, counts) in items.clone().enumerate() {
        let found: u64 = counts.iter().sum();
        if found != n_raters {
            return Err(InputError::Ragged { name: "ratings per item", row, found, expected: n_raters });
        }
    }
    let undefined = FleissKappa { n_items, n_raters, fleiss: None, randolph: None, mean_agreement: None };
    if n_items == 0 || n_raters < 2 {
        return Ok(undefined);
    }
    let (n, r, q) = (n_items as f64, n_raters as f64, table.categories() as f64);
    let agreeing_pairs: u64 = items.clone().flatten().map(|&c| c * c.saturating_sub(1)).sum();
    let agreement = agreeing_pairs as f64 / (n * r * (r - 1.0));
    let mut totals = vec![0u64; table.categories()];
    for counts in items {
        for (total, count) in totals.iter_mut().zip(counts) {
            *total += count;
        }
    }
    let used = totals.iter().filter(|&&total| total > 0).count();
    let chance: f64 = totals.iter().map(|&total| (total as f64 / (n * r)).powi(2)).sum();
    let beyond = |chance: f64| (agreement - chance) / (1.0 - chance);
    Ok(FleissKappa {
        fleiss: (used > 1).then(|| beyond(chance)),
        randolph: (table.categories() > 1).then(|| beyond(1.0 / q)),
        mean_agreement: Some(agreement),
        ..undefined
    })
}
