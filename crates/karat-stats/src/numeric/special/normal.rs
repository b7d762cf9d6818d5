//! The standard normal distribution.

#![expect(clippy::excessive_precision, reason = "Cody's coefficients as published, so that they can be checked")]

use std::f64::consts::{PI, SQRT_2};

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
        upper_quantile(1.0 - p)
    } else {
        -upper_quantile(p)
    }
}

/// The x ≥ 0 with P(Z > x) = q, for 0 < q ≤ ½: Abramowitz & Stegun 26.2.23 (error below 5e-4),
/// polished by Halley steps, each of which triples the digits.
fn upper_quantile(q: f64) -> f64 {
    let t = (-2.0 * q.ln()).sqrt();
    let above = polynomial(&[0.010_328, 0.802_853, 2.515_517], t);
    let below = polynomial(&[0.001_308, 0.189_269, 1.432_788, 1.0], t);
    let mut x = t - above / below;
    for _ in 0..3 {
        let density = normal_pdf(x);
        // Below the smallest normal double there are no digits left to gain.
        if density < f64::MIN_POSITIVE {
            break;
        }
        let step = (normal_sf(x) - q) / density;
        x += step / (1.0 - 0.5 * x * step);
    }
    x.max(0.0)
}

/// 1 − erf(x) by the rational approximations of W. J. Cody, "Rational Chebyshev approximations for
/// the error function", Math. Comp. 23 (1969); relative error below 1e-15.
fn erfc(x: f64) -> f64 {
    let size = x.abs();
    if size <= 0.468_75 {
        return 1.0 - erf_near_zero(x);
    }
    let tail = if size <= 4.0 { erfc_middle(size) } else { erfc_far(size) };
    if x < 0.0 { 2.0 - tail } else { tail }
}

fn erf_near_zero(x: f64) -> f64 {
    const ABOVE: [f64; 5] = [
        1.857_777_061_846_031_53e-1,
        3.161_123_743_870_565_6,
        1.138_641_541_510_501_56e2,
        3.774_852_376_853_020_21e2,
        3.209_377_589_138_469_47e3,
    ];
    const BELOW: [f64; 5] = [
        1.0,
        2.360_129_095_234_412_09e1,
        2.440_246_379_344_441_73e2,
        1.282_616_526_077_372_28e3,
        2.844_236_833_439_170_62e3,
    ];
    let square = x * x;
    x * polynomial(&ABOVE, square) / polynomial(&BELOW, square)
}

/// For 0.46875 ≤ x ≤ 4.
fn erfc_middle(x: f64) -> f64 {
    const ABOVE: [f64; 9] = [
        2.153_115_354_744_038_46e-8,
        5.641_884_969_886_700_89e-1,
        8.883_149_794_388_375_94,
        6.611_919_063_714_162_95e1,
        2.986_351_381_974_001_31e2,
        8.819_522_212_417_690_9e2,
        1.712_047_612_634_070_58e3,
        2.051_078_377_826_071_47e3,
        1.230_339_354_797_997_25e3,
    ];
    const BELOW: [f64; 9] = [
        1.0,
        1.574_492_611_070_983_47e1,
        1.176_939_508_913_124_99e2,
        5.371_811_018_620_098_58e2,
        1.621_389_574_566_690_19e3,
        3.290_799_235_733_459_63e3,
        4.362_619_090_143_247_16e3,
        3.439_367_674_143_721_64e3,
        1.230_339_354_803_749_42e3,
    ];
    exp_minus_square(x) * polynomial(&ABOVE, x) / polynomial(&BELOW, x)
}

/// For x > 4.
fn erfc_far(x: f64) -> f64 {
    const ABOVE: [f64; 6] = [
        1.631_538_713_730_209_78e-2,
        3.053_266_349_612_323_44e-1,
        3.603_448_999_498_044_39e-1,
        1.257_817_261_112_292_46e-1,
        1.608_378_514_874_227_66e-2,
        6.587_491_615_298_378_03e-4,
    ];
    const BELOW: [f64; 6] = [
        1.0,
        2.568_520_192_289_822_42,
        1.872_952_849_923_467_25,
        5.279_051_029_514_284_12e-1,
        6.051_834_131_244_131_91e-2,
        2.335_204_976_268_691_85e-3,
    ];
    if x > 27.0 {
        return 0.0;
    }
    let z = 1.0 / (x * x);
    let correction = z * polynomial(&ABOVE, z) / polynomial(&BELOW, z);
    exp_minus_square(x) * (1.0 / PI.sqrt() - correction) / x
}

/// e^(−x²), with the square split so that its rounding is not magnified.
fn exp_minus_square(x: f64) -> f64 {
    let coarse = (x * 16.0).trunc() / 16.0;
    let rest = (x - coarse) * (x + coarse);
    (-coarse * coarse).exp() * (-rest).exp()
}

/// The polynomial with the given coefficients, highest power first.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().fold(0.0, |sum, c| sum * x + c)
}
