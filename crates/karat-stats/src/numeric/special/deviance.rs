//! Loader's saddle-point terms, from which binomial and beta densities are computed without
//! the cancellation of large log-gammas (C. Loader, "Fast and accurate computation of binomial
//! probabilities", 2000).

use std::f64::consts::PI;

use statrs::function::gamma::ln_gamma;

/// ln Γ(n+1) − [(n+½) ln n − n + ½ ln 2π], the error of Stirling's formula, for n > 0.
pub(crate) fn stirling_error(n: f64) -> f64 {
    if n > 16.0 {
        const SERIES: [f64; 6] =
            [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0];
        let x = 1.0 / (n * n);
        return SERIES.iter().rev().fold(0.0, |sum, term| sum * x + term) / n;
    }
    ln_gamma(n + 1.0) - (n + 0.5) * n.ln() + n - 0.5 * (2.0 * PI).ln()
}

/// x ln(x/m) + m − x, for x ≥ 0 and m > 0, accurate when x is close to m.
pub(super) fn deviance(x: f64, m: f64) -> f64 {
    if (x - m).abs() < 0.1 * (x + m) {
        let v = (x - m) / (x + m);
        let mut sum = (x - m) * v;
        let mut term = 2.0 * x * v;
        for j in 1..1000 {
            term *= v * v;
            let next = sum + term / f64::from(2 * j + 1);
            if next.to_bits() == sum.to_bits() {
                break;
            }
            sum = next;
        }
        return sum;
    }
    if x <= 0.0 {
        return m;
    }
    x * (x / m).ln() + m - x
}

/// Γ(n+1)/(Γ(k+1)Γ(n−k+1)) pᵏ qⁿ⁻ᵏ for real 0 ≤ k ≤ n, with q = 1 − p given separately so that
/// neither loses digits.
pub(super) fn binomial_density(k: f64, n: f64, p: f64, q: f64) -> f64 {
    let r = n - k;
    if p <= 0.0 {
        return if k <= 0.0 { 1.0 } else { 0.0 };
    }
    if q <= 0.0 {
        return if r <= 0.0 { 1.0 } else { 0.0 };
    }
    if k <= 0.0 {
        return (n * log_complement(p, q)).exp();
    }
    if r <= 0.0 {
        return (n * log_complement(q, p)).exp();
    }
    let log = stirling_error(n) - stirling_error(k) - stirling_error(r) - deviance(k, n * p) - deviance(r, n * q);
    (n / (2.0 * PI * k * r)).sqrt() * log.exp()
}

/// ln q where q = 1 − p, from whichever of the two carries the digits.
fn log_complement(p: f64, q: f64) -> f64 {
    if p < 0.5 { (-p).ln_1p() } else { q.ln() }
}
