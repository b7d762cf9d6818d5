//! Agreement of judges with each other and with people.
//!
//! `agree` gathers the grades of a stored run by item and rater; `coefficients` computes every agreement coefficient of them.
//! The analyses `agreement` and `calibration` use `coefficients` directly.

pub mod agree;
pub(crate) mod coefficients;
