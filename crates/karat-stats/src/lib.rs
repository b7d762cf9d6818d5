//! Seeded, pure statistics for evaluation: intervals, paired tests, agreement, drift, sequential tests.
//!
//! Every function is pure: slices in, a small result struct out. Nothing here prints, reads a clock
//! or draws unseeded randomness, and no NaN leaves a function: a statistic that the data do not
//! define is `None`. Inputs are finite numbers; missing observations are dropped by the caller
//! ([`observed`], [`paired`]), who reports how many.

pub mod agreement;
pub mod calibration;
pub mod classification;
pub mod correction;
pub mod drift;
pub mod input;
pub mod interval;
pub mod preference;
pub mod seed;
pub mod sequential;
pub mod special;
pub mod sum;
