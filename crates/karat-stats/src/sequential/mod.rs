//! Statistics that may be looked at while they run: confidence sequences, e-processes, early stopping.
//!
//! All of them keep their guarantee at any stopping time, provided that items come in an order that
//! was fixed before (a seeded shuffle), never in order of arrival: slow answers are often the wrong
//! ones. [`Claims`] follows all gates of a run and [`Race`] its systems, unit by unit; they are what `run.stop_early` uses.

mod claims;
mod predictable;

pub use claims::{
    Basis, Bound, CertainVerdict, Claim, ClaimDecision, ClaimEnds, ClaimSpec, ClaimVerdict, Claims, DecidedBy,
    EarlyRule, ForecastInput, ForecastMean, MIN_CLUSTERS, MIN_UNITS, MissingScores, Race, RaceDrop, RaceSpec,
    StopForecast, forecast_stop,
};
