//! Seeded, pure statistics for evaluation: intervals, paired tests, agreement, drift, sequential tests.
//!
//! Every function is pure: slices in, a small result struct out. Nothing here prints, reads a clock
//! or draws unseeded randomness, and no NaN leaves a function: a statistic that the data do not
//! define is `None`. Inputs are finite numbers; missing observations are dropped by the caller, who
//! reports how many ([`compare::pair`] does so for pairs).
//!
//! | question | module |
//! |---|---|
//! | how good is one system? | [`describe`], [`bootstrap`], [`classification`], [`calibration`] |
//! | which interval, which test? | [`inference`] |
//! | is the other one better? | [`compare`], [`compare::multiplicity`], [`power`], [`preference`] |
//! | may I stop early? did it get worse? | [`sequential`], [`drift`] |
//! | can the judge be trusted? | [`agreement`], [`correction`] |
//! | is the test set any good? | [`calibration::items`] |
//!
//! ```
//! use karat_stats::compare::paired_t;
//! use karat_stats::interval::Level;
//!
//! let differences = [0.2, -0.1, 0.4, 0.3, 0.1];
//! let test = paired_t(&differences, Level::P95);
//! let found = test.mean.zip(test.interval);
//! let shown = found.map(|(mean, interval)| format!("{mean:+.2} ({:+.2} to {:+.2})", interval.lo, interval.hi));
//! assert_eq!(shown.as_deref(), Some("+0.18 (-0.06 to +0.42)"));
//! ```

#![deny(missing_docs)]

pub mod agreement;
pub mod bootstrap;
pub mod calibration;
pub mod classification;
pub mod compare;
pub mod correction;
pub mod describe;
pub mod drift;
pub mod inference;
pub mod interval;
pub mod numeric;
pub mod power;
pub mod preference;
pub mod sequential;
