//! Means of clustered items: several questions about one passage, several turns of one dialogue.

use super::{is_constant, is_rounding, magnitude, mean, standard_error, variance};
use crate::interval::{Interval, Level, Method};
use crate::numeric::input::{InputError, same_length};
use crate::numeric::sum::sum_of;

/// The mean of clustered items with its cluster-robust precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClusteredMean {
    /// Number of items.
    pub n: usize,
    /// Number of clusters G.
    pub n_clusters: usize,
    /// The mean of all items.
    pub mean: Option<f64>,
    /// s/√n, as if the items were independent; for comparison.
    pub naive_standard_error: Option<f64>,
    /// CR0 = √(n⁻² Σ_c (Σ_{i∈c} e_i)²), without small-sample correction.
    pub cr0: Option<f64>,
    /// The standard error printed in Miller 2024 (arXiv 2411.00640 §2.2):
    /// SE² = s²/n + n⁻² Σ_c Σ_{i≠j∈c} e_i e_j; `None` when that sum is negative.
    pub miller: Option<f64>,
    /// CR1 = CR0·√(G/(G−1)), the standard error to quote; `None` for fewer than two clusters.
    pub standard_error: Option<f64>,
    /// Degrees of freedom G − 1.
    pub df: Option<f64>,
    /// mean ± t_{G−1}·CR1.
    pub interval: Option<Interval>,
    /// CR1² / (s²/n): how much the clustering costs; `None` when the items do not vary.
    pub design_effect: Option<f64>,
    /// n / design effect: how many independent items these are worth.
    pub effective_n: Option<f64>,
    /// One-way ANOVA intraclass correlation; `None` unless some cluster has two items.
    pub icc: Option<f64>,
    /// The deviations of every cluster add up to nothing but rounding: the values are equal, or the clusters are alike
    /// by chance. The standard error of 0 says nothing of other clusters.
    pub degenerate: bool,
}

/// The mean of `values` whose item i belongs to cluster `clusters[i]`, any label per cluster.
///
/// Use it whenever a cluster column exists. Below 8 clusters treat the interval with caution, and
/// with very unequal sizes prefer the cluster bootstrap.
///
/// ```
/// use karat_stats::{describe::clustered_mean, interval::Level};
///
/// // Three questions on each of four documents: what one document has, its neighbours have too.
/// let scores = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
/// let documents = ["a", "a", "a", "b", "b", "b", "c", "c", "c", "d", "d", "d"];
/// let found = clustered_mean(&scores, &documents, Level::P95)?;
/// assert_eq!((found.n, found.n_clusters), (12, 4));
/// assert!(found.standard_error > found.naive_standard_error);
/// assert!(found.effective_n.is_some_and(|n| n < 6.0));
/// # Ok::<(), karat_stats::numeric::input::InputError>(())
/// ```
///
/// # Errors
/// When the lengths differ.
pub fn clustered_mean<C: Ord>(values: &[f64], clusters: &[C], level: Level) -> Result<ClusteredMean, InputError> {
    let groups = group(values, clusters)?;
    let (n, n_clusters) = (values.len(), groups.len());
    let (items, g) = (n as f64, n_clusters as f64);
    let centre = mean(values);
    let naive = standard_error(values);
    let deviations = centre.map(|m| Deviations::of(&groups, m));
    let cr0 = deviations.map(|d| d.cluster_squares.sqrt() / items);
    let se = cr0.filter(|_| n_clusters >= 2).map(|cr0| cr0 * (g / (g - 1.0)).sqrt());
    let df = se.map(|_| g - 1.0);
    let interval = centre
        .zip(se)
        .zip(df)
        .and_then(|((m, se), df)| Some(Interval::around(m, level.t(df)? * se, level, Method::ClusterT)));
    let naive_variance = naive.map(|se| se * se).filter(|_| !is_constant(values));
    let design_effect = se.zip(naive_variance).map(|(se, naive)| se * se / naive);
    Ok(ClusteredMean {
        n,
        n_clusters,
        mean: centre,
        naive_standard_error: naive,
        cr0,
        miller: deviations.zip(variance(values)).and_then(|(d, s2)| {
            let squared = s2 / items + (d.cluster_squares - d.item_squares) / (items * items);
            (squared >= 0.0).then(|| squared.sqrt())
        }),
        standard_error: se,
        df,
        interval,
        design_effect,
        effective_n: design_effect.filter(|d| *d > 0.0).map(|d| items / d).filter(|n| n.is_finite()),
        icc: icc(&groups, values),
        degenerate: se.is_some_and(|se| is_rounding(se, magnitude(values))),
    })
}

/// The values of each cluster, in the order of the labels.
fn group<C: Ord>(values: &[f64], clusters: &[C]) -> Result<Vec<Vec<f64>>, InputError> {
    same_length("values", values.len(), "clusters", clusters.len())?;
    let mut groups = std::collections::BTreeMap::<&C, Vec<f64>>::new();
    for (value, cluster) in values.iter().zip(clusters) {
        groups.entry(cluster).or_default().push(*value);
    }
    Ok(groups.into_values().collect())
}

/// Sums of squares of the deviations from the mean.
#[derive(Clone, Copy)]
struct Deviations {
    /// Σ_c (Σ_{i∈c} e_i)².
    cluster_squares: f64,
    /// Σ_i e_i².
    item_squares: f64,
}

impl Deviations {
    fn of(groups: &[Vec<f64>], centre: f64) -> Self {
        let squared_sum = |values: &Vec<f64>| sum_of(values.iter().map(|x| x - centre)).powi(2);
        let squares = |values: &Vec<f64>| sum_of(values.iter().map(|x| (x - centre) * (x - centre)));
        Self {
            cluster_squares: sum_of(groups.iter().map(squared_sum)),
            item_squares: sum_of(groups.iter().map(squares)),
        }
    }
}

/// (MSB − MSW)/(MSB + (n0 − 1)·MSW) with n0 = (n − Σ n_c²/n)/(G − 1). `None` unless there are two groups and one of them has
/// two values, or where nothing varies.
fn icc(groups: &[Vec<f64>], values: &[f64]) -> Option<f64> {
    let (n, g) = (values.len() as f64, groups.len() as f64);
    if groups.len() < 2 || values.len() <= groups.len() || is_constant(values) {
        return None;
    }
    let centre = mean(values)?;
    let means: Vec<f64> = groups.iter().map(|group| mean(group)).collect::<Option<_>>()?;
    let between = sum_of(groups.iter().zip(&means).map(|(group, m)| group.len() as f64 * (m - centre).powi(2)));
    let within = sum_of(groups.iter().zip(&means).flat_map(|(group, m)| group.iter().map(move |x| (x - m).powi(2))));
    let sizes = sum_of(groups.iter().map(|group| (group.len() as f64).powi(2)));
    let (between, within, n0) = (between / (g - 1.0), within / (n - g), (n - sizes / n) / (g - 1.0));
    let total = between + (n0 - 1.0) * within;
    (between.is_finite() && within.is_finite() && total > 0.0).then(|| (between - within) / total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// GE-06: a single cluster has no standard error, rather than one of 0.
    #[test]
    fn a_single_cluster_has_no_standard_error() {
        let one = clustered_mean(&[0.1, 0.5, 0.9], &["a"; 3], Level::P95).unwrap();
        assert_eq!((one.n_clusters, one.standard_error, one.interval), (1, None, None));
        assert!(one.mean.is_some());
    }

    /// Invariant: equal sums of clusters are degenerate like equal values, even if they differ from 0 by rounding.
    #[test]
    fn clusters_that_are_alike_are_degenerate() {
        let labels = [0, 0, 0, 1, 1, 1];
        let degenerate = |values: &[f64; 6]| clustered_mean(values, &labels, Level::P95).unwrap().degenerate;
        assert!(degenerate(&[0.0, 0.0, 0.5, 0.5, 0.0, 0.0]) && degenerate(&[0.1, 0.2, 0.3, 0.3, 0.2, 0.1]));
        assert!(degenerate(&[0.1; 6]) && !degenerate(&[0.1, 0.2, 0.3, 0.3, 0.2, 0.2]));
    }

    #[test]
    fn lengths_must_agree() {
        assert!(clustered_mean(&[0.1], &[1, 2], Level::P95).is_err());
    }

    proptest! {
        #[test]
        fn singleton_clusters_give_the_naive_standard_error(values in prop::collection::vec(0.0..1.0_f64, 2..40)) {
            let clusters: Vec<usize> = (0..values.len()).collect();
            let m = clustered_mean(&values, &clusters, Level::P95).unwrap();
            prop_assert!((m.standard_error.unwrap() - m.naive_standard_error.unwrap()).abs() < 1e-12);
        }

        #[test]
        fn the_order_of_items_does_not_matter(
            items in prop::collection::vec((0.0..1.0_f64, 0..6_u8), 2..40),
        ) {
            let split = |items: &[(f64, u8)]| -> (Vec<f64>, Vec<u8>) { items.iter().copied().unzip() };
            let mut reversed = items.clone();
            reversed.reverse();
            let (a, b) = (split(&items), split(&reversed));
            let (a, b) = (clustered_mean(&a.0, &a.1, Level::P95).unwrap(), clustered_mean(&b.0, &b.1, Level::P95).unwrap());
            prop_assert_eq!(a.n_clusters, b.n_clusters);
            prop_assert!((a.standard_error.unwrap_or(0.0) - b.standard_error.unwrap_or(0.0)).abs() < 1e-12);
        }
    }
}
