//! Distribution functions and quantiles.
//!
//! A distribution is a type whose constructor refuses parameters outside its domain, so its
//! functions are total: quantiles of `p ≤ 0` and `p ≥ 1` are the ends of the support. Upper tails
//! (`sf`) are computed directly, never as `1 − cdf`, so tiny p-values keep their digits.

mod beta;
mod binomial;
mod chi_squared;
mod deviance;
mod fisher_f;
mod noncentral_t;
mod normal;
mod root;
mod student_t;

pub use beta::Beta;
pub use binomial::{Binomial, two_sided_p};
pub use chi_squared::ChiSquared;
pub(crate) use deviance::stirling_error;
pub use fisher_f::FisherF;
pub use noncentral_t::NoncentralT;
pub use normal::{normal_cdf, normal_pdf, normal_quantile, normal_sf};
pub(crate) use root::boundary;
pub use root::find_root;
pub use statrs::function::gamma::ln_gamma;
pub use student_t::StudentT;

/// The two tails of a distribution at one point, each computed without cancellation.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Tails {
    /// P(X ≤ x).
    lower: f64,
    /// P(X > x).
    upper: f64,
}

impl Tails {
    fn swap_tails(self) -> Self {
        Self { lower: self.upper, upper: self.lower }
    }
}

#[cfg(test)]
mod tests;
