//! Draws of rows.
//!
//! - `draw.rs`: a random draw, over strata where they are named; rows are looked at once
//! - `allocation.rs`: how many rows each stratum gives
//! - `diverse.rs`: rows that differ most from each other

mod allocation;
mod diverse;
mod draw;

pub use allocation::Allocation;
pub use diverse::DiverseSampler;
pub use draw::{DrawnRows, RowSampler, StratumCount};
