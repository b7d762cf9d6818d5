//! Plans samples: the number that a difference needs, and the difference that a number of samples detects.
//!
//! `stored_deviations` takes the spread of paired differences from a stored run, `power` plans with it for a metric, `needed`
//! turns a design into samples, clusters and dollars. `compare` plans its undecided metrics with `needed`, too.

pub(crate) mod needed;
pub(crate) mod power;
mod stored_deviations;

pub use needed::{Needed, PLANNED_POWER};
pub use power::{MetricPower, PairedDeviation, difference_problem, planning_problem, power};
pub use stored_deviations::paired_deviations;
