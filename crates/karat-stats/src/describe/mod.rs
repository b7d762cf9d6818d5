//! One system: moments, quantiles, and intervals for means and rates.
//!
//! ```
//! use karat_stats::describe::{Proportion, mean_with_t_interval};
//! use karat_stats::interval::Level;
//!
//! let scores = mean_with_t_interval(&[3.0, 4.0, 4.5, 2.5], Level::P95);
//! assert_eq!(scores.mean, Some(3.5));
//! assert!(scores.interval.is_some_and(|interval| interval.lo < 2.1 && interval.hi > 4.9));
//!
//! // A pass rate has an interval of its own, which never leaves 0..=1.
//! let passed = Proportion::new(9.0, 10.0).map(|rate| rate.wilson(Level::P95));
//! assert!(passed.is_some_and(|interval| interval.lo > 0.59 && interval.hi < 0.99));
//! ```

mod cluster;
mod mean;
mod moments;
mod pass_at_k;
mod proportion;
mod quantile;
mod summary;

pub use cluster::{ClusteredMean, clustered_mean};
pub use mean::{MeanEstimate, mean_with_normal_interval, mean_with_t_interval, t_interval};
pub use moments::{
    extent, is_constant, is_rounding, magnitude, mean, population_variance, standard_deviation, standard_error,
    variance,
};
pub use pass_at_k::{PassAtK, PassBounds, PassRule, Task, all_of_k, any_of_k, pass_at_k, pass_bounds};
pub use proportion::Proportion;
pub use quantile::{
    median, median_absolute_deviation, nearest_rank, nearest_rank_of, quantile, quantile_of_sorted, sorted,
};
pub use summary::{Summary, summarize};
