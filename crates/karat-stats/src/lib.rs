//! Seeded, pure statistics for evaluation: intervals, paired tests, agreement, drift, sequential tests.
//!
//! Every function is pure: slices in, a small result struct out. Nothing here prints, reads a clock
//! or draws unseeded randomness, and no NaN leaves a function: a statistic that the data do not
//! define is `None`. Inputs are finite numbers; missing observations are dropped by the caller, who
//! reports how many ([`compare::pair`] does so for pairs).

pub mod agreement;
pub mod bootstrap;
pub mod calibration;
pub mod classification;
pub mod compare;
pub mod correction;
pub mod describe;
pub mod drift;
pub mod input;
pub mod interval;
pub mod multiplicity;
pub mod power;
pub mod preference;
pub mod seed;
pub mod sequential;
pub mod special;
pub mod sum;
