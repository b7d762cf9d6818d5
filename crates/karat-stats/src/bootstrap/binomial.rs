//! Binomial and multinomial random numbers.

use super::draws::Draws;
use crate::numeric::special::stirling_error;

/// A draw from Binomial(n, p), exact up to the rounding of doubles.
pub(super) fn binomial(draws: &mut Draws, n: u64, p: f64) -> u64 {
    if p > 0.5 {
        return n - binomial(draws, n, 1.0 - p);
    }
    if n == 0 || p <= 0.0 {
        return 0;
    }
    if n as f64 * p < 10.0 { inversion(draws, n, p) } else { transformed_rejection(draws, n, p) }
}

/// Splits `n` items over categories in proportion to `counts` (a multinomial draw) and hands
/// `visit` the number of each.
pub(super) fn multinomial(draws: &mut Draws, n: u64, counts: &[u64], mut visit: impl FnMut(usize, u64)) {
    let (mut items, mut weight) = (n, counts.iter().sum::<u64>());
    for (category, count) in counts.iter().enumerate() {
        let share = if *count == weight { 1.0 } else { *count as f64 / weight as f64 };
        let drawn = binomial(draws, items, share);
        visit(category, drawn);
        items -= drawn;
        weight -= count;
    }
}

/// Walks up the probabilities from 0; the expected number of steps is n·p.
fn inversion(draws: &mut Draws, n: u64, p: f64) -> u64 {
    let odds = p / (1.0 - p);
    loop {
        let mut left = draws.uniform();
        let mut probability = (n as f64 * (-p).ln_1p()).exp();
        for k in 0..=n {
            if left < probability {
                return k;
            }
            left -= probability;
            probability *= odds * (n - k) as f64 / (k + 1) as f64;
        }
    }
}

/// Algorithm BTRS of Hörmann 1993 ("The generation of binomial random variates"), for n·p ≥ 10 and
/// p ≤ ½.
fn transformed_rejection(draws: &mut Draws, n: u64, p: f64) -> u64 {
    let trials = n as f64;
    let variance = trials * p * (1.0 - p);
    let spread = variance.sqrt();
    let b = 1.15 + 2.53 * spread;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let centre = trials * p + 0.5;
    let sure = 0.92 - 4.2 / b;
    loop {
        let u = draws.uniform() - 0.5;
        let v = draws.uniform();
        let room = 0.5 - u.abs();
        let position = (2.0 * a / room + b) * u + centre;
        if !(0.0..trials + 1.0).contains(&position) {
            continue;
        }
        let k = position as u64;
        if room >= 0.07 && v <= sure {
            return k;
        }
        let height = v * (2.83 + 5.1 / b) * spread / (a / (room * room) + b);
        if accepts(height.ln(), trials, k as f64, p, variance) {
            return k;
        }
    }
}

/// Returns true if `log_height` ≤ ln P(X = k)/P(X = mode), mostly from bounds that need no logarithm (the squeeze of
/// Kachitvichyanukul & Schmeiser 1988, step 5.2).
fn accepts(log_height: f64, n: f64, k: f64, p: f64, variance: f64) -> bool {
    let mode = ((n + 1.0) * p).floor();
    let steps = (k - mode).abs();
    if steps > 20.0 && steps < 0.5 * variance - 1.0 {
        let normal = -0.5 * steps * steps / variance;
        let skew = (steps * (steps / 3.0 + 0.625) + 1.0 / 6.0) / variance;
        let slack = steps / variance * (skew + 0.5);
        if log_height < normal - slack {
            return true;
        }
        if log_height > normal + slack {
            return false;
        }
    }
    log_height <= log_relative(n, k, mode, p)
}

/// ln P(X = k)/P(X = mode) for X ~ Binomial(n, p), through Stirling's formula at k + 1.
fn log_relative(n: f64, k: f64, mode: f64, p: f64) -> f64 {
    let odds = p / (1.0 - p);
    let (above_k, above_mode) = (n - k + 1.0, n - mode + 1.0);
    (mode + 0.5) * ((mode + 1.0) / (odds * above_mode)).ln()
        + (n + 1.0) * (above_mode / above_k).ln()
        + (k + 0.5) * (odds * above_k / (k + 1.0)).ln()
        + stirling_error(mode + 1.0)
        + stirling_error(above_mode)
        - stirling_error(k + 1.0)
        - stirling_error(above_k)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::seed::Seed;
    use crate::numeric::special::{Binomial, ChiSquared};

    #[test]
    fn draws_follow_the_distribution() {
        for (n, p) in [(1, 0.3), (12, 0.5), (40, 0.1), (100, 0.4), (100, 0.93), (5000, 0.01), (5000, 0.7)] {
            let exact = Binomial::new(n, p).unwrap();
            let mut draws = Draws::new(Seed(17).stream(n));
            let total = 100_000;
            let mut counts = vec![0_u32; n as usize + 1];
            for _ in 0..total {
                counts[binomial(&mut draws, n, p) as usize] += 1;
            }
            let (mut chi2, mut cells) = (0.0, 0.0);
            for (k, count) in counts.iter().enumerate() {
                let expected = f64::from(total) * exact.pmf(k as u64);
                if expected >= 5.0 {
                    chi2 += (f64::from(*count) - expected).powi(2) / expected;
                    cells += 1.0;
                }
            }
            let p_value = ChiSquared::new(f64::max(cells - 1.0, 1.0)).unwrap().sf(chi2);
            assert!(p_value > 1e-4, "Binomial({n}, {p}): p = {p_value}");
        }
    }

    #[test]
    fn acceptance_is_that_of_the_exact_probabilities() {
        for (n, p) in [(40_u64, 0.3), (1000, 0.5), (1000, 0.15), (100_000, 0.2)] {
            let exact = Binomial::new(n, p).unwrap();
            let mode = ((n as f64 + 1.0) * p).floor();
            let variance = n as f64 * p * (1.0 - p);
            let reach = 6.0 * variance.sqrt();
            for k in (0..=n).filter(|k| (*k as f64 - mode).abs() < reach) {
                let log = (exact.pmf(k) / exact.pmf(mode as u64)).ln();
                let accepts = |height| accepts(height, n as f64, k as f64, p, variance);
                assert!(accepts(log - 1e-8) && !accepts(log + 1e-8), "{n} {p} {k}");
            }
        }
    }

    #[test]
    fn the_categories_of_a_multinomial_draw_add_up() {
        let mut draws = Draws::new(Seed(2).stream(0));
        let mut means = [0.0; 3];
        for _ in 0..4000 {
            let mut total = 0;
            multinomial(&mut draws, 50, &[5, 0, 45], |category, drawn| {
                means[category] += drawn as f64 / 4000.0;
                total += drawn;
            });
            assert_eq!(total, 50);
        }
        assert!((means[0] - 5.0).abs() < 0.2 && means[1] == 0.0, "{means:?}");
    }
}
