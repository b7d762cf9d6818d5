//! Means of shares: values from 0 to 1 that are no pass or fail, such as recall or similarity.

use super::{Bounded, Clusters, RobustMean, robust_mean, tied_design_effect};
use crate::describe::Proportion;
use crate::interval::{Interval, Level, Method};
use crate::numeric::input::InputError;

/// With fewer units away from an end of the scale, the spread is not known well enough to be worth more than the units.
const TELLING: usize = 5;

/// The rule that gave the interval of a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareMethod {
    /// Wilson's interval at the effective n.
    Share,
    /// Few values differ: [`Bounded`].
    Tied,
    /// No interval: fewer than two units, or all clusters have one mean though their values differ.
    None,
}

/// A mean of shares with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareMean {
    /// The mean; `None` for no values.
    pub value: Option<f64>,
    /// Number of units: clusters, else values.
    pub units: usize,
    /// The rule of the interval.
    pub method: ShareMethod,
    /// v(1 − v)/SE², at least 1; of [`ShareMethod::Share`] only.
    pub effective_n: Option<f64>,
    /// Degrees of freedom; of [`ShareMethod::Share`] only.
    pub df: Option<f64>,
    /// CR2 standard error.
    pub standard_error: Option<f64>,
    /// The interval.
    pub interval: Option<Interval>,
}

/// The mean of values from 0 to 1.
///
/// Wilson at (v, n′) with n′ = max(v(1 − v)/SE², 1) and t_df, SE and df those of CR2; n′ ≤ G where fewer than 5 units hold
/// a value below 1, or fewer than 5 one above 0. Where few values vary, the interval is that of [`Bounded`]. By simulation
/// it covers 92.6 to 98.8 % where t covers 64 to 95.
///
/// Pass single-value clusters where there are none. `shown` are the values as measured: `values` themselves, or where
/// these are pseudo-values of several systems, what each was computed from.
///
/// # Errors
/// When the lengths differ.
pub fn share_mean(values: &[f64], shown: &[f64], clusters: &Clusters, level: Level) -> Result<ShareMean, InputError> {
    let robust = robust_mean(values, clusters, level)?;
    let (value, units, standard_error) = (robust.mean, clusters.len(), robust.standard_error);
    let none = ShareMean {
        value,
        units,
        method: ShareMethod::None,
        effective_n: None,
        df: None,
        standard_error,
        interval: None,
    };
    if units < 2 {
        return Ok(none);
    }
    if let Some(bounded) = Bounded::new(values, tied_design_effect(values, clusters)?) {
        let interval = bounded.interval(0.0, 1.0, level);
        return Ok(ShareMean { method: ShareMethod::Tied, interval, ..none });
    }
    let telling = clusters.with(shown, |x| x < 1.0).min(clusters.with(shown, |x| x > 0.0)) >= TELLING;
    let Some((worth, interval)) = wilson(&robust, telling, level) else { return Ok(none) };
    let (effective_n, df, interval) = (Some(worth), robust.df, Some(interval));
    Ok(ShareMean { method: ShareMethod::Share, effective_n, df, interval, ..none })
}

/// The effective n and the interval there; `None` where all clusters have one mean.
fn wilson(robust: &RobustMean, telling: bool, level: Level) -> Option<(f64, Interval)> {
    let value = robust.mean?.clamp(0.0, 1.0);
    let variance = robust.variance.filter(|v| *v > 0.0 && !robust.alike)?;
    let worth = (value * (1.0 - value) / variance).max(1.0);
    let worth = if telling { worth } else { worth.min(robust.n_clusters as f64) };
    let interval = Proportion::new(value * worth, worth)?.cluster_wilson(robust.df?, level)?;
    Some((worth, Interval { method: Method::ShareWilson, ..interval }))
}
