//! Pairwise preference: Bradley-Terry, Davidson ties, position bias, rankings.
//!
//! ```
//! use karat_stats::preference::{Games, Pairing, bradley_terry};
//!
//! let pairing = |a, b, wins_a, wins_b| Pairing { a, b, wins_a, wins_b, ties: 0 };
//! let games = Games::new(3, vec![pairing(0, 1, 8, 2), pairing(1, 2, 7, 3), pairing(0, 2, 9, 1)])?;
//! let ranked = bradley_terry(&games, 0.0)?.map(|found| found.log_strength);
//! assert!(ranked.is_some_and(|strength| strength[0] > strength[1] && strength[1] > strength[2]));
//! # Ok::<(), karat_stats::numeric::input::InputError>(())
//! ```

mod bradley_terry;
mod davidson;
mod games;
mod information;
mod position_bias;
mod ranking;
#[cfg(test)]
mod ranking_tests;
#[cfg(test)]
mod tests;

pub use bradley_terry::{BradleyTerry, bradley_terry};
pub use davidson::{Davidson, davidson};
pub use games::{Games, Pairing};
pub use position_bias::{PositionBias, Preferred, position_bias};
pub use ranking::{
    DAVIDSON_FROM, NoMaximum, PRIOR_PSEUDO_WINS, PreferenceModel, RankedModel, RankedPair, Ranking, rank_models,
};
