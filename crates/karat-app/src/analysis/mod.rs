//! Analyses over stored runs. Each file is one command.
//!
//! - `compare`, `agree`, `drift`, `digest`, `golden`, `power`: the commands of these names.
//! - `series` reads the page of a dated suite, with the drift of `past_drift`.
//! - `gates` applies quality gates.
//! - `suite_rows` collects the judged rows of all runs of a suite, for `drift`, `digest` and `golden`.

pub(crate) mod agree;
pub(crate) mod canary;
pub(crate) mod compare;
pub(crate) mod digest;
pub(crate) mod drift;
pub(crate) mod gates;
pub(crate) mod golden;
mod past_drift;
pub(crate) mod power;
pub(crate) mod series;
pub(crate) mod suite_rows;
