//! Statistics that may be looked at while they run: confidence sequences, e-processes, early stopping.
//!
//! All of them keep their guarantee at any stopping time, provided that items come in an order that
//! was fixed before (a seeded shuffle), never in order of arrival: slow answers are often the wrong
//! ones. [`group_sequential`] is for a few looks planned beforehand. [`Claims`] follows all gates of a run and [`Race`]
//! its systems, unit by unit; they are what `run.stop_early` uses.
//!
//! ```
//! use karat_stats::sequential::sequential_paired;
//!
//! let (before, after) = ([0.2; 60], [0.9; 60]);
//! let found = sequential_paired(&before, &after, 0.05)?;
//! assert!(found.stop_improvement.is_some_and(|items| items < 60), "enough is known before the end");
//! assert_eq!(found.stop_regression, None);
//! # Ok::<(), karat_stats::numeric::input::InputError>(())
//! ```

mod asymptotic;
mod betting;
mod claims;
mod empirical_bernstein;
mod gate;
mod group;
mod paired;
mod predictable;
#[cfg(test)]
mod tests;

pub use asymptotic::{AsymptoticPoint, AsymptoticSequence};
pub use betting::{BettingSequence, Bounds, Wealth};
pub use claims::{
    Basis, Bound, CertainVerdict, Claim, ClaimDecision, ClaimEnds, ClaimSpec, ClaimVerdict, Claims, DecidedBy,
    EarlyRule, ForecastInput, ForecastMean, MIN_CLUSTERS, MIN_UNITS, MissingScores, Race, RaceDrop, RaceSpec,
    StopForecast, forecast_stop,
};
pub use empirical_bernstein::{EmpiricalBernsteinPoint, empirical_bernstein};
pub use gate::{GateDecision, GatePoint, GateRun, GateVerdict, SequentialGate, gate_early_stop};
pub use group::{Boundary, Look, group_sequential};
pub use paired::{SequentialPaired, sequential_paired};
