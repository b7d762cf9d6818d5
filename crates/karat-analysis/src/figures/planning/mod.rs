//! Plans samples: the number that a difference needs, and the difference that a number of samples detects.
//!
//! `power` plans for a metric with the spread of paired differences, which [`crate::paired_deviations`] takes from a stored run;
//! `needed` turns a design into samples, clusters and dollars. `compare` plans its undecided metrics with `needed`, too.

pub(crate) mod needed;
pub(crate) mod power;

pub use needed::{Needed, PLANNED_POWER};
pub use power::{MetricPower, PairedDeviation, difference_problem, planning_problem, power};
