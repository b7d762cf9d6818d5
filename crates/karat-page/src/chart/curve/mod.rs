//! Charts over a horizontal axis.
//!
//! - `lines`: curves, reliability diagrams; hands distributions to `distribution`.
//! - `scatter`: things by two values. `histogram`: bins of values.
//! - `series`: values over dates; hands six or more lines to `multiples`.
//! - `stack`: parts of a sum over dates. `radar`: a profile.
//! - `dates`: positions and labels of dates, and thinning of long lines.

pub(crate) mod dates;
mod distribution;
pub(crate) mod histogram;
pub(crate) mod lines;
mod multiples;
pub(crate) mod radar;
pub(crate) mod scatter;
pub(crate) mod series;
pub(crate) mod stack;
