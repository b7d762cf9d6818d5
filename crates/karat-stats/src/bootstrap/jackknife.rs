//! Leaving out one observation, or one cluster, at a time.

use crate::describe::{is_constant, mean, t_interval};
use crate::interval::{Interval, Level, Method};
use crate::numeric::sum::sum_of;

/// The interval of a coefficient from −1 to 1 over few clusters, by Fisher's z of the coefficients without each cluster in turn.
///
/// z ± t_{G−1}·SE with SE² = (G−1)/G·Σ(z_g − z̄)² (Efron & Tibshirani 1993, An Introduction to the Bootstrap, 11.5), back to the
/// scale of the coefficient. It covers where a percentile bootstrap of few clusters does not. `None` for fewer than three
/// clusters, where a coefficient is ±1 or undefined, and where they are all the same.
///
/// ```
/// use karat_stats::bootstrap::jackknife_fisher;
/// use karat_stats::interval::Level;
///
/// let found = jackknife_fisher(0.8, &[0.75, 0.82, 0.78, 0.84], Level::P95);
/// assert!(found.is_some_and(|it| it.lo < 0.75 && 0.84 < it.hi && it.hi < 1.0));
/// assert_eq!(jackknife_fisher(0.8, &[0.75, 0.82], Level::P95), None);
/// ```
pub fn jackknife_fisher(coefficient: f64, left_out: &[f64], level: Level) -> Option<Interval> {
    let z = |value: f64| Some(value.atanh()).filter(|z| z.is_finite());
    let each = left_out.iter().map(|value| z(*value)).collect::<Option<Vec<f64>>>()?;
    if each.len() < 3 || is_constant(&each) {
        return None;
    }
    let (centre, clusters) = (mean(&each)?, each.len() as f64);
    let variance = (clusters - 1.0) / clusters * sum_of(each.iter().map(|z| (z - centre).powi(2)));
    let on_z = t_interval(z(coefficient)?, variance.sqrt(), clusters - 1.0, level)?;
    Some(Interval { lo: on_z.lo.tanh(), hi: on_z.hi.tanh(), level, method: Method::ClusterJackknife })
}
