//! The interval of every figure and the test of every change: the only place that chooses them.
//!
//! - `measure`: the rule of a metric: aggregate, range, level, bootstrap
//! - `finding`: a value with its interval, the only form in which a statistic leaves the crate
//! - `figure`: the interval of a figure; `resampled`: by bootstrap; `cascaded`: of a judge cascade
//! - `change`: the test of a paired change, its p and its interval
//! - `anchored`: people's mean from a judge's scores of all outputs and labels of some
//! - `design`: figures of samples that were drawn from strata
//! - `pairs`: paired scores compared by any aggregate
//!
//! Reports, slices, leaderboards, gates, comparisons and advice all come here, so one contrast has one interval and one p on
//! every screen. The formulas are in [`karat_stats::inference`].

pub(crate) mod anchored;
pub(crate) mod cascaded;
pub(crate) mod change;
mod design;
pub(crate) mod figure;
pub(crate) mod finding;
pub(crate) mod measure;
pub(crate) mod pairs;
pub(crate) mod resampled;
