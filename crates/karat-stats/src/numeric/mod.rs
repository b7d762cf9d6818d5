//! Numeric foundations that the statistics share.
//!
//! - `input`: errors of inputs; `seed`: seeded random streams
//! - `special`: special functions and their inverses; `sum`: compensated sums

pub mod input;
pub mod seed;
pub mod special;
pub mod sum;
