//! Early stopping: the claims of a run's gates and the race of its systems, followed unit by unit.
//!
//! | file | task |
//! |---|---|
//! | `several` | all claims of a run, decided together by Holm; read it first |
//! | `claim` | the process of one claim: p-values, certain verdicts, ends |
//! | `forecast` | the units that a planned run needs, by those of an earlier one |
//! | `race` | drops systems that cannot be the best, by claims on pairs |
//! | `wealth` | the mixture of bets that `claim` follows |
//! | `tests` | rules and invariants; error rates and savings are in the test `simulations` |
//!
//! `several` and `race` use `claim`, which uses `wealth`. A unit is a cluster or a sample with all its trials; units come
//! in a seeded random order that is fixed before the run, and nothing here draws a random number.

mod claim;
mod forecast;
mod race;
mod several;
#[cfg(test)]
mod tests;
mod wealth;

pub use claim::{Basis, Bound, CertainVerdict, Claim, ClaimEnds, ClaimSpec, EarlyRule};
pub use forecast::{ForecastInput, ForecastMean, StopForecast, forecast_stop};
pub use race::{Race, RaceDrop, RaceSpec};
pub use several::{ClaimDecision, ClaimVerdict, Claims, DecidedBy, MIN_CLUSTERS, MIN_UNITS, MissingScores};
