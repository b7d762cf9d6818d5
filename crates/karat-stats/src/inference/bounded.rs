//! Values of which few differ from the commonest one: their spread says little of values not yet seen, so the interval
//! takes the ends of the scale as one further value.

use super::{Clusters, robust_mean};
use crate::describe::{mean, variance};
use crate::interval::{Interval, Level, Method};
use crate::numeric::input::InputError;
use crate::numeric::special::find_root;

/// From so many other values on, their spread is known.
const FEW: usize = 10;

/// Values are compared at so many parts of one: nine decimals.
const DECIMALS: f64 = 1e9;

/// The intraclass correlation of clusters is never thought to be below this.
const LEAST_CORRELATION: f64 = 0.15;

/// The commonest value, and the number of values that differ from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Commonest {
    /// Number of values.
    pub n: usize,
    /// The commonest; of equally common ones the nearest to 0, then the smaller.
    pub value: f64,
    /// Number of values that differ from it by nine decimals.
    pub others: usize,
}

impl Commonest {
    /// Returns true if so few values vary that their spread says nothing: fewer than 10, and fewer than half.
    pub fn is_tied(&self) -> bool {
        self.others < FEW && 2 * self.others < self.n
    }
}

/// The commonest of the values; `None` for no values.
pub fn commonest(values: &[f64]) -> Option<Commonest> {
    let mut keys: Vec<(f64, f64)> = values.iter().map(|value| (key(*value), *value)).collect();
    keys.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let groups = keys.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq());
    let rank = |group: &&[(f64, f64)]| (group.len(), group.first().map_or(0.0, |it| it.0));
    let best = groups.max_by(|a, b| {
        let ((m, x), (n, y)) = (rank(a), rank(b));
        m.cmp(&n).then(y.abs().total_cmp(&x.abs())).then(y.total_cmp(&x))
    })?;
    let value = best.first()?.1;
    Some(Commonest { n: values.len(), value, others: values.len() - best.len() })
}

/// The value at nine decimals, without the sign of 0.
fn key(value: f64) -> f64 {
    let rounded = (value * DECIMALS).round();
    if rounded.is_finite() { rounded + 0.0 } else { value }
}

/// The design effect of tied values: max(V_CR2·n/s², 1 + (m̃ − 1)·0.15), m̃ = Σm²/n; the second where the values do not
/// vary, and 1 without clusters of several values.
///
/// # Errors
/// When the lengths differ.
pub fn tied_design_effect(values: &[f64], clusters: &Clusters) -> Result<f64, InputError> {
    let robust = robust_mean(values, clusters, Level::P95)?;
    if !clusters.hold_several() {
        return Ok(1.0);
    }
    let spread = variance(values).filter(|s2| *s2 > 0.0);
    let of_data = robust.variance.zip(spread).map(|(v, s2)| v * values.len() as f64 / s2);
    Ok(of_data.unwrap_or_default().max(1.0 + (clusters.mean_size() - 1.0) * LEAST_CORRELATION))
}

/// Tied values, ready for intervals: [`Commonest::is_tied`].
///
/// B(e) is a mean of the values and one further value e, with Dirichlet weights whose parameters are 1/D of each value
/// and 1 of e; D is the design effect. For scores of 0 and 1 its quantiles are the ends of Clopper-Pearson.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounded {
    n: f64,
    mean: f64,
    commonest: f64,
    /// Distinct values that are not the commonest, with their numbers.
    others: Vec<(f64, f64)>,
    design_effect: f64,
}

impl Bounded {
    /// `None` unless there are two values or more and few of them vary.
    pub fn new(values: &[f64], design_effect: f64) -> Option<Self> {
        let found = commonest(values).filter(|found| found.n > 1 && found.is_tied())?;
        let mut others = Vec::<(f64, f64)>::new();
        let apart = values.iter().filter(|value| key(**value).total_cmp(&key(found.value)).is_ne());
        for value in apart {
            match others.iter_mut().find(|other| other.0.total_cmp(value).is_eq()) {
                Some(other) => other.1 += 1.0,
                None => others.push((*value, 1.0)),
            }
        }
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (n, mean) = (values.len() as f64, mean(values)?);
        Some(Self { n, mean, commonest: found.value, others, design_effect: design_effect.max(1.0) })
    }

    /// Number of values that differ from the commonest.
    pub fn others(&self) -> usize {
        self.others.iter().map(|other| other.1).sum::<f64>() as usize
    }

    /// The interval of the mean of values between `min` and `max`.
    ///
    /// All equal: [c − s(c − min), c + s(max − c)] with s = 1 − (α/2)^{D/n}. Else the quantile α/2 of B(min) and 1 − α/2
    /// of B(max). `None` unless `min` < `max`; values beyond them widen the scale.
    pub fn interval(&self, min: f64, max: f64, level: Level) -> Option<Interval> {
        let (min, max) = self.scale(min, max)?;
        let tail = 0.5 * level.alpha();
        let (lo, hi) = if self.others.is_empty() {
            let unseen = 1.0 - tail.powf(self.design_effect / self.n);
            let c = self.commonest;
            (c - unseen * (c - min), c + unseen * (max - c))
        } else {
            (self.quantile(min, tail)?, self.quantile(max, 1.0 - tail)?)
        };
        Some(Interval {
            lo: lo.max(min).min(self.mean),
            hi: hi.min(max).max(self.mean),
            level,
            method: Method::Bounded,
        })
    }

    /// The p of a mean of 0, for differences of at most ±`largest`.
    ///
    /// All equal to c: 2(R/(R + |c|))^{n/D}. Else 2·P(B(−R) ≤ 0) for a mean above 0, 2·P(B(R) ≥ 0) below; at most 1.
    /// `None` unless `largest` is positive.
    pub fn p_of_zero(&self, largest: f64) -> Option<f64> {
        self.p_of(0.0, -largest, largest)
    }

    /// The p of a mean of `shift` of values between `min` and `max`: the α at which an end of [`Self::interval`] is there.
    /// `None` unless `min` < `max`.
    pub fn p_of(&self, shift: f64, min: f64, max: f64) -> Option<f64> {
        let (min, max) = self.scale(min, max)?;
        let above = self.mean - shift;
        let (c, end) = (self.commonest, if above > 0.0 { min } else { max });
        let p = if self.others.is_empty() {
            let reach = ((c - end).abs() - above.abs()) / (c - end).abs();
            2.0 * reach.max(0.0).powf(self.n / self.design_effect)
        } else if above > 0.0 {
            2.0 * self.below(min, shift)
        } else {
            2.0 * (1.0 - self.below(max, shift))
        };
        Some(if above.abs() > 0.0 { p.clamp(0.0, 1.0) } else { 1.0 })
    }

    /// The ends of the scale, widened to the values; `None` if there is no scale.
    fn scale(&self, min: f64, max: f64) -> Option<(f64, f64)> {
        let extent = |(lo, hi): (f64, f64), x: f64| (lo.min(x), hi.max(x));
        let values = self.others.iter().map(|other| other.0).chain([self.commonest]);
        let (min, max) = if min < max { values.fold((min, max), extent) } else { return None };
        (max - min).is_finite().then_some((min, max))
    }

    /// The quantile `p` of B(end).
    fn quantile(&self, end: f64, p: f64) -> Option<f64> {
        let values = self.others.iter().map(|other| other.0).chain([self.commonest, end]);
        let (least, most) = values.fold((end, end), |(lo, hi), x| (lo.min(x), hi.max(x)));
        find_root(|t| self.below(end, t) - p, least, most)
    }

    /// P(B(end) ≤ t): with Gamma variables in place of the weights, that Σaⱼ-weighted xⱼ − t is not above 0.
    fn below(&self, end: f64, t: f64) -> f64 {
        let each = 1.0 / self.design_effect;
        let equal = (self.n - self.others.iter().map(|other| other.1).sum::<f64>()) * each;
        let others = self.others.iter().map(|(value, count)| (count * each, value - t));
        let terms = others.chain([(equal, self.commonest - t), (1.0, end - t)]);
        let terms: Vec<(f64, f64)> = terms.filter(|(_, distance)| distance.abs() > 0.0).collect();
        if terms.iter().all(|(_, distance)| *distance > 0.0) {
            return 0.0;
        }
        if terms.iter().all(|(_, distance)| *distance < 0.0) {
            return 1.0;
        }
        gamma_sum_below_zero(&terms)
    }
}

/// P(Σ Gⱼωⱼ ≤ 0) for independent Gⱼ ~ Gamma(aⱼ): ½ − π⁻¹∫ sin θ(u)/(u·ρ(u)) du, θ = Σaⱼ atan(uωⱼ),
/// ln ρ = ½Σaⱼ ln(1 + u²ωⱼ²) (Gil-Pelaez 1951; Imhof 1961), by the trapezoid rule in ln u.
fn gamma_sum_below_zero(terms: &[(f64, f64)]) -> f64 {
    let largest = terms.iter().fold(0.0_f64, |most, (_, w)| most.max(w.abs()));
    let terms: Vec<(f64, f64)> = terms.iter().map(|(a, w)| (*a, w / largest)).collect();
    let total: f64 = terms.iter().map(|(a, _)| a).sum();
    let slope: f64 = terms.iter().map(|(a, w)| a * w).sum();
    let size: f64 = terms.iter().map(|(a, w)| a * w.abs()).sum();
    // The rule converges exponentially in the number of points, which the peak of n values narrows as √n.
    let step = 1.0 / total.sqrt().max(16.0).log2().ceil().exp2();
    // Below this the integrand is its slope: the sum of the points there is a geometric series.
    let from = (1e-5 / size).ln();
    let before = slope * from.exp() / step.exp_m1();
    let mut integral = before;
    for at in 0_u32.. {
        let place = from + f64::from(at) * step;
        let u = place.exp();
        let decay = 0.5 * terms.iter().map(|(a, w)| a * ((u * w) * (u * w)).ln_1p()).sum::<f64>();
        if place > LAST || decay > NEGLIGIBLE {
            break;
        }
        let turn: f64 = terms.iter().map(|(a, w)| a * (u * w).atan()).sum();
        integral += turn.sin() * (-decay).exp();
    }
    (0.5 - integral * step / std::f64::consts::PI).clamp(0.0, 1.0)
}

/// The last ln u.
const LAST: f64 = 40.0;

/// Beyond e⁻⁴⁰ the integrand adds nothing.
const NEGLIGIBLE: f64 = 40.0;
