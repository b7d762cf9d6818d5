//! From observations to figures with intervals.
//!
//! [`crate::Finding`] is the only form in which a statistic leaves the crate. [`crate::infer`] chooses the method of an
//! interval.
//!
//! - `aggregate`, `spread`: a metric over a group of cells, with its extremes and what is missing
//! - `groups`: systems, models, variants and the whole run, each with its figures
//! - `leaderboard`: rankings on the cells that all models share
//! - `contrast`: a tested change with its verdict; `looks`: its number among the looks at a growing dataset
//! - `cost`, `breakdown`: tokens and money, by judge and by step
//! - `planning`: the samples that a difference needs
//! - `slope`: a number against a feature, within groups

pub(crate) mod aggregate;
pub(crate) mod breakdown;
pub(crate) mod contrast;
pub(crate) mod cost;
pub(crate) mod groups;
pub(crate) mod leaderboard;
pub(crate) mod looks;
pub mod planning;
pub(crate) mod slope;
pub(crate) mod spread;
