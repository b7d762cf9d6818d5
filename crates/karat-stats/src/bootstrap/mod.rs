//! The bootstrap: seeded resampling, and intervals from the replicates.
//!
//! Resampling is cut into fixed chunks, each with its own random stream, so one thread and many give
//! the same replicates. Not for fewer than about ten items (it undercovers), nor for extremes.

mod binomial;
mod distribution;
mod draws;
mod mean;
mod resample;

pub use distribution::{Bca, BcaCorrection, Distribution, jackknife};
pub use mean::{bootstrap_clustered_mean, bootstrap_mean};
pub use resample::{Resampling, bootstrap, bootstrap_indices};

#[cfg(test)]
mod tests;
