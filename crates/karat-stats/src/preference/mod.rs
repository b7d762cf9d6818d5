//! Pairwise preference: Bradley-Terry, Davidson ties, position bias.

mod bradley_terry;
mod davidson;
mod games;
mod information;
mod position_bias;
#[cfg(test)]
mod tests;

pub use bradley_terry::{BradleyTerry, bradley_terry};
pub use davidson::{Davidson, davidson};
pub use games::{Games, Pairing};
pub use position_bias::{PositionBias, Preferred, position_bias};
