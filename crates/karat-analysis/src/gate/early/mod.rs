//! Early stopping: which gates are decided by the units of a run so far, and which cells its figures rest on.
//!
//! | file | task |
//! |---|---|
//! | `follow` | follows gates and race unit by unit, for the engine; read it first |
//! | `gates` | the gates that can be followed, and the reasons for the others |
//! | `claims` | one claim: its population, scale and missing scores |
//! | `population` | counts the rows of the plan for each claim |
//! | `scores` | the scores of one unit |
//! | `race` | the race of systems in one metric |
//! | `forecast` | the share of a planned run that its gates would need |
//! | `spared` | the calls that a stop spared, and the later verdicts, for reports |
//!
//! A claim is a bound of a gate for one system and one group of samples. Its statistics are in
//! [`karat_stats::sequential`]; here scores become its units, by the same rules as at the end of a run.

mod claims;
mod follow;
pub(super) mod forecast;
mod gates;
mod population;
mod race;
mod scores;
mod spared;
#[cfg(test)]
mod tests;

pub use follow::EarlyStop;
pub use gates::{open_gates, stop_problems};
pub use spared::StopSummary;
