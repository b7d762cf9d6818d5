//! The standard normal distribution.

use std::f64::consts::{PI, SQRT_2};

use libm::erfc;
use statrs::function::erf::erfc_inv;

/// P(Z ≤ x).
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * erfc(-x / SQRT_2)
}

/// P(Z > x), accurate in the far tail.
pub fn normal_sf(x: f64) -> f64 {
    0.5 * erfc(x / SQRT_2)
}

/// The density φ(x).
pub fn normal_pdf(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// Φ⁻¹(p); −∞ for p ≤ 0 and +∞ for p ≥ 1.
pub fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        f64::NEG_INFINITY
    } else if p >= 1.0 {
        f64::INFINITY
    } else if p > 0.5 {
        -lower_quantile(1.0 - p)
    } else {
        lower_quantile(p)
    }
}

/// The x ≤ 0 with P(Z ≤ x) = p, for 0 < p ≤ ½. A Halley step triples the digits of the inverse.
fn lower_quantile(p: f64) -> f64 {
    let x = -SQRT_2 * erfc_inv(2.0 * p);
    let density = normal_pdf(x);
    // Below the smallest normal double there are no digits left to gain.
    if density < f64::MIN_POSITIVE {
        return x;
    }
    let step = (normal_cdf(x) - p) / density;
    (x - step / (1.0 + 0.5 * x * step)).min(0.0)
}
