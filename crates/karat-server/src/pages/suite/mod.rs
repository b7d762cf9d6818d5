//! Pages of a suite, over all of its runs.
//!
//! - `series`: the days of a dated suite. `items`: its test set.

pub(super) mod items;
pub(super) mod series;
