//! The slope of a number against a feature, within groups, with a cluster-robust interval.

use std::collections::{BTreeMap, BTreeSet};

use karat_stats::describe::{clustered_mean, is_constant, mean};
use karat_stats::interval::Level;
use karat_stats::numeric::sum::sum_of;

use crate::infer::finding::Finding;

/// With fewer clusters in which the feature varies, a slope has no interval.
const CLUSTERS_FROM: usize = 5;

/// A smaller distance from the mean is a rounding error.
const TELLING: f64 = 1e-9;

/// Each value minus its group's mean, or minus the overall mean if no group has two values.
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

/// Least-squares slope with a cluster-robust interval: the mean of b + n·x(y − bx)/Σx², with x and y centred. `None`
/// below three values, or if the feature does not vary.
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
    // Within a cluster the residuals cancel out, so few informative clusters would give a much too narrow interval.
    let telling: BTreeSet<u32> =
        centred.iter().zip(clusters).filter(|((x, _), _)| x.abs() > TELLING).map(|(_, cluster)| *cluster).collect();
    let interval = found.interval.filter(|_| telling.len() >= CLUSTERS_FROM);
    Some(Finding::point(slope, x.len(), "least squares")?.with_named_interval(interval))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GE-04: the interval of a slope is cluster-robust; y = 2x + noise shared by clusters.
    #[test]
    fn a_slope_accounts_for_clusters() {
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
