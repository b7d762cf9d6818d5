//! The pass rate of clusters, or of several systems on the same samples.

use super::{Clusters, robust_mean};
use crate::describe::Proportion;
use crate::interval::{Interval, Level};
use crate::numeric::input::InputError;

/// The intraclass correlation that a rate is never thought to be below: with nearly all passes the data hold no estimate.
const LEAST_CORRELATION: f64 = 0.15;

/// From so many passes and so many fails on, the data speak for themselves.
const TELLING: f64 = 20.0;

/// A pass rate with Wilson's interval at the effective number of independent trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClusterRate {
    /// Number of trials.
    pub n: usize,
    /// Number of clusters G.
    pub n_clusters: usize,
    /// The rate.
    pub rate: f64,
    /// The number of dependent trials are worth one independent trial, at least 1.
    pub design_effect: f64,
    /// n / design effect.
    pub effective_n: f64,
    /// CR2 standard error; `None` for fewer than two clusters.
    pub standard_error: Option<f64>,
    /// Bell-McCaffrey degrees of freedom; `None` for fewer than two clusters.
    pub df: Option<f64>,
    /// Wilson at the effective n with t_df; `None` for fewer than two clusters.
    pub interval: Option<Interval>,
}

/// The pass rate of trials in clusters.
///
/// deff = max(V_CR2·n/s², 1 + (m̃ − 1)·0.15·min(1, 20/I)), s² = p(1 − p)n/(n − 1), m̃ = Σm²/n, I = passes or fails, the
/// fewer (0: factor 1). The interval is Wilson's at n/deff with t_df; it never ends higher than that of all passes with
/// the same clusters, nor lower than that of none, so one more pass never makes a rate look worse.
///
/// `values` has the mean that is the rate: 0 and 1, or the pseudo-values of several systems, of which `passes` passed.
/// With S `systems` on the same samples the second term counts their cells as one: (m̃ − S)·0.15 + S − 1.
/// `None` for no values.
///
/// # Errors
/// When `values` and `clusters` differ in length.
pub fn cluster_rate(
    values: &[f64],
    passes: usize,
    clusters: &Clusters,
    systems: usize,
    level: Level,
) -> Result<Option<ClusterRate>, InputError> {
    let robust = robust_mean(values, clusters, level)?;
    let Some(mean) = robust.mean else { return Ok(None) };
    let (n, rate) = (values.len() as f64, mean.clamp(0.0, 1.0));
    let systems = systems.max(1) as f64;
    let fewer = passes.min(values.len().saturating_sub(passes)) as f64;
    let known = if fewer > 0.0 { (TELLING / fewer).min(1.0) } else { 1.0 };
    let dependent = (clusters.mean_size() - systems).max(0.0) * LEAST_CORRELATION + systems - 1.0;
    let variance = rate * (1.0 - rate) * n / (n - 1.0);
    let of_data = robust.variance.filter(|_| variance > 0.0 && !robust.alike).map(|v| v * n / variance);
    let design_effect = of_data.unwrap_or_default().max(1.0 + dependent * known);
    let at = |rate: f64, design_effect: f64| {
        let worth = n / design_effect;
        Proportion::new(rate * worth, worth)?.cluster_wilson(robust.df?, level)
    };
    let ends = at(rate, design_effect).zip(at(1.0, 1.0 + dependent)).zip(at(0.0, 1.0 + dependent));
    let interval = ends.map(|((own, all), none)| Interval { lo: own.lo.min(all.lo), hi: own.hi.max(none.hi), ..own });
    let (n_clusters, standard_error, df) = (robust.n_clusters, robust.standard_error, robust.df);
    let effective_n = n / design_effect;
    Ok(Some(ClusterRate {
        n: values.len(),
        n_clusters,
        rate,
        design_effect,
        effective_n,
        standard_error,
        df,
        interval,
    }))
}
