//! Root finding by Brent's method, and by bisection where there is only a yes or no.

/// Halvings that bring the ends of an inverted test to the precision of a double.
const BISECTIONS: u32 = 52;

/// The root of `f` between `lo` and `hi`, to the last digits of a double.
///
/// `None` when `f` has the same sign at both ends or is not a number there. Brent 1973, ch. 4:
/// inverse quadratic interpolation guarded by bisection, so it never leaves the bracket.
pub fn find_root(f: impl Fn(f64) -> f64, lo: f64, hi: f64) -> Option<f64> {
    let (mut a, mut b) = (lo, hi);
    let (mut fa, mut fb) = (f(a), f(b));
    if fa.is_nan() || fb.is_nan() || (fa > 0.0 && fb > 0.0) || (fa < 0.0 && fb < 0.0) {
        return None;
    }
    let (mut c, mut fc) = (a, fa);
    let mut step = b - a;
    let mut last = step;
    for _ in 0..2000 {
        if fc.abs() < fb.abs() {
            (a, b, c) = (b, c, b);
            (fa, fb, fc) = (fb, fc, fb);
        }
        let tolerance = 2.0 * f64::EPSILON * b.abs() + f64::MIN_POSITIVE;
        let half = 0.5 * (c - b);
        if half.abs() <= tolerance || fb.abs() <= 0.0 {
            return Some(b);
        }
        if last.abs() >= tolerance && fa.abs() > fb.abs() {
            let (p, q) = interpolate(a, b, c, fa, fb, fc);
            if 2.0 * p < (3.0 * half * q - (tolerance * q).abs()).min((last * q).abs()) {
                last = step;
                step = p / q;
            } else {
                step = half;
                last = half;
            }
        } else {
            step = half;
            last = half;
        }
        (a, fa) = (b, fb);
        b += if step.abs() > tolerance { step } else { tolerance.copysign(half) };
        fb = f(b);
        if (fb > 0.0) == (fc > 0.0) {
            (c, fc) = (a, fa);
            step = b - a;
            last = step;
        }
    }
    Some(b)
}

/// The interpolated step `p / q` with `p ≥ 0`: secant with two points, inverse quadratic with three.
fn interpolate(a: f64, b: f64, c: f64, fa: f64, fb: f64, fc: f64) -> (f64, f64) {
    let half = 0.5 * (c - b);
    let s = fb / fa;
    let (p, q) = if a.to_bits() == c.to_bits() {
        (2.0 * half * s, 1.0 - s)
    } else {
        let q = fa / fc;
        let r = fb / fc;
        (s * (2.0 * half * q * (q - r) - (b - a) * (r - 1.0)), (q - 1.0) * (r - 1.0) * (s - 1.0))
    };
    if p > 0.0 { (p, -q) } else { (-p, q) }
}

/// The last number for which `excluded` holds, between `outside`, for which it holds, and `inside`, for which it does
/// not.
pub(crate) fn boundary(mut outside: f64, mut inside: f64, excluded: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..BISECTIONS {
        let middle = 0.5 * outside + 0.5 * inside;
        if excluded(middle) {
            outside = middle;
        } else {
            inside = middle;
        }
    }
    outside
}
