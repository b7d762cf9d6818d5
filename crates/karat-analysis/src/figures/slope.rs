//! How a number goes with a feature, within groups and with an interval that knows clusters.

use std::collections::{BTreeMap, BTreeSet};

use karat_stats::describe::{clustered_mean, is_constant, mean};
use karat_stats::interval::Level;
use karat_stats::sum::sum_of;

use crate::figures::finding::Finding;

/// Below so many clusters with a difference in the feature a slope has no interval.
const CLUSTERS_FROM: usize = 5;

/// A smaller distance from the mean is rounding.
const TELLING: f64 = 1e-9;

/// Each value less its group's mean; less the overall mean where no group has two values.
pub(crate) fn center_within_groups(groups: &[usize], values: &[f64]) -> Vec<f64> {
    let mut by_group: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    groups.iter().zip(values).for_each(|(group, value)| by_group.entry(*group).or_default().push(*value));
    let alone = by_group.values().all(|values| values.len() < 2);
    let overall = mean(values).unwrap_or_default();
    let centre = |group: &usize| match by_group.get(group).and_then(|values| mean(values)) {
        Some(mean) if !alone => mean,
        _ => overall,
    };
    let distance = |(group, value): (&usize, &f64)| value - centre(group);
    groups.iter().zip(values).map(distance).map(|it| if it.abs() > TELLING { it } else { 0.0 }).collect()
}

/// Least-squares slope with a cluster-robust interval: the mean of b + n·x(y − bx)/Σx², x and y about their means.
/// `None` below three values or where the feature does not differ.
pub(crate) fn slope(x: &[f64], y: &[f64], clusters: &[u32], level: Level) -> Option<Finding> {
    if x.len() < 3 || is_constant(x) {
        return None;
    }
    let (mean_x, mean_y) = (mean(x)?, mean(y)?);
    let centred: Vec<(f64, f64)> = x.iter().zip(y).map(|(x, y)| (x - mean_x, y - mean_y)).collect();
    let squares = sum_of(centred.iter().map(|(x, _)| x * x));
    let slope = sum_of(centred.iter().map(|(x, y)| x * y)) / squares;
    let n = x.len() as f64;
    let influences: Vec<f64> = centred.iter().map(|(x, y)| slope + n * x * (y - slope * x) / squares).collect();
    let found = clustered_mean(&influences, clusters, level).ok()?;
    // Within one cluster the residuals cancel out, so few that tell anything would seem to know everything.
    let telling: BTreeSet<u32> =
        centred.iter().zip(clusters).filter(|((x, _), _)| x.abs() > TELLING).map(|(_, cluster)| *cluster).collect();
    let interval = found.interval.filter(|_| telling.len() >= CLUSTERS_FROM);
    Some(Finding::point(slope, x.len(), "least squares")?.with_named_interval(interval))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GE-04: a slope has the interval of its clusters; y = 2x + noise that the clusters share.
    #[test]
    fn a_slope_knows_its_clusters() {
        let x: Vec<f64> = (0..12).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|x| 2.0 * x + (x * 7.0) % 3.0).collect();
        let each: Vec<u32> = (0..12).collect();
        let found = slope(&x, &y, &each, Level::P95).unwrap();
        assert!((found.value() - 2.0).abs() < 0.2 && found.sign() == Some(true), "{found:?}");
        assert_eq!(found.method(), "least squares, cluster t (CR1)");
        let few: Vec<u32> = (0..12).map(|at| at / 4).collect();
        assert_eq!(slope(&x, &y, &few, Level::P95).unwrap().interval(), None);
        assert_eq!(slope(&[1.0; 5], &y[..5], &each[..5], Level::P95), None);
    }

    #[test]
    fn groups_are_compared_within() {
        assert_eq!(center_within_groups(&[0, 0, 1, 1], &[1.0, 3.0, 10.0, 10.0]), [-1.0, 1.0, 0.0, 0.0]);
        assert_eq!(center_within_groups(&[0, 1], &[1.0, 3.0]), [-1.0, 1.0]);
    }
}
