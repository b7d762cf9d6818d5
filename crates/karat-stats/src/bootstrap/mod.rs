//! The bootstrap: seeded resampling, and intervals from the replicates.
//!
//! Resampling is cut into fixed chunks, each with its own random stream, so one thread and many give
//! the same replicates. Not for fewer than about ten items (it undercovers), nor for extremes.
//!
//! ```
//! use karat_stats::bootstrap::{Resampling, bootstrap_mean};
//! use karat_stats::{interval::Level, numeric::seed::Seed};
//!
//! let latencies: Vec<f64> = (1..=40).map(|i| f64::from(i * i)).collect();
//! let drawn = bootstrap_mean(&latencies, &Resampling::new(Seed(1))).and_then(|it| it.percentile(Level::P95));
//! assert!(drawn.is_some_and(|interval| interval.contains(553.5)));
//! // The seed is all of the randomness.
//! let again = bootstrap_mean(&latencies, &Resampling::new(Seed(1))).and_then(|it| it.percentile(Level::P95));
//! assert_eq!(drawn, again);
//! ```

mod binomial;
mod distribution;
mod draws;
mod jackknife;
mod mean;
mod resample;

pub use distribution::{Bca, BcaCorrection, Distribution, jackknife, jackknife_mean};
pub use jackknife::jackknife_fisher;
pub use mean::bootstrap_mean;
pub use resample::{Resampling, bootstrap, bootstrap_indices, resample_indices};

#[cfg(test)]
mod tests;
