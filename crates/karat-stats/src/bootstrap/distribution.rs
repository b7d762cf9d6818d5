//! Intervals from a bootstrap distribution.

use crate::describe::{is_constant, mean, quantile_of_sorted, sorted, standard_deviation};
use crate::interval::{Interval, Level, Method};
use crate::numeric::special::{normal_cdf, normal_quantile};
use crate::numeric::sum::sum_of;

/// An estimate and its replicates.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    estimate: f64,
    /// Ascending.
    replicates: Vec<f64>,
}

/// A BCa interval with the numbers it was made from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bca {
    /// The interval; the point when all replicates are equal, `None` when it is undefined.
    pub interval: Option<Interval>,
    /// The correction; `None` if all replicates are equal or the correction is undefined.
    pub correction: Option<BcaCorrection>,
}

/// The two corrections of BCa and the shares of the replicates they lead to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BcaCorrection {
    /// z₀, the median bias in normal units; ties with the estimate count half.
    pub bias: f64,
    /// The acceleration a = Σu³/(6(Σu²)^{3/2}) over jackknife influences.
    pub acceleration: f64,
    /// The share of the replicates below the lower bound.
    pub lower_share: f64,
    /// The share of the replicates below the upper bound.
    pub upper_share: f64,
}

impl Distribution {
    /// `None` without replicates or when a number is not finite.
    pub fn new(estimate: f64, replicates: Vec<f64>) -> Option<Self> {
        let mut replicates = replicates;
        let usable = estimate.is_finite() && !replicates.is_empty() && replicates.iter().all(|r| r.is_finite());
        replicates.sort_unstable_by(f64::total_cmp);
        usable.then_some(Self { estimate, replicates })
    }

    /// The statistic of the data themselves.
    pub fn estimate(&self) -> f64 {
        self.estimate
    }

    /// The replicates, ascending.
    pub fn replicates(&self) -> &[f64] {
        &self.replicates
    }

    /// The standard deviation of the replicates (÷ B − 1); `None` for fewer than two.
    pub fn standard_error(&self) -> Option<f64> {
        standard_deviation(&self.replicates)
    }

    /// The percentile interval: type-7 quantiles of the replicates.
    pub fn percentile(&self, level: Level) -> Option<Interval> {
        let tail = 0.5 * level.alpha();
        self.between(tail, 1.0 - tail, level, Method::Percentile)
    }

    /// Two-sided p-value of the hypothesis that the statistic is `null`: 2·(1 + b)/(B + 1), at most 1, where b of the B
    /// replicates are at or beyond `null` on the side with fewer of them (Davison & Hinkley 1997, §4.4).
    pub fn p_two_sided(&self, null: f64) -> f64 {
        let below = self.replicates.partition_point(|replicate| *replicate <= null);
        let above = self.replicates.len() - self.replicates.partition_point(|replicate| *replicate < null);
        (2.0 * (1 + below.min(above)) as f64 / (self.replicates.len() + 1) as f64).min(1.0)
    }

    /// The percentile interval between the k-th lowest and k-th highest replicate, k = ⌊(B + 1)·α/2⌋: it leaves out
    /// exactly what [`p_two_sided`](Self::p_two_sided) rejects. `None` for fewer than 2/α − 1 replicates.
    pub fn percentile_interval(&self, level: Level) -> Option<Interval> {
        // Rounding of an α such as 0.05 must not lose a replicate.
        let k = (0.5 * level.alpha() * (self.replicates.len() + 1) as f64 * (1.0 + 1e-12)).floor() as usize;
        let lo = *self.replicates.get(k.checked_sub(1)?)?;
        let hi = *self.replicates.get(self.replicates.len().checked_sub(k)?)?;
        (lo <= hi).then_some(Interval { lo, hi, level, method: Method::Percentile })
    }

    /// The basic interval: the percentile interval mirrored at the estimate.
    pub fn basic(&self, level: Level) -> Option<Interval> {
        let percentile = self.percentile(level)?;
        Some(Interval {
            lo: 2.0 * self.estimate - percentile.hi,
            hi: 2.0 * self.estimate - percentile.lo,
            level,
            method: Method::Basic,
        })
    }

    /// The bias-corrected and accelerated interval (Efron 1987), the default for medians, ratios and
    /// ranking metrics. `jackknife` is the statistic without each item in turn ([`jackknife`]).
    ///
    /// The ends are quantiles at Φ(z₀ + (z₀ + z)/(1 − a(z₀ + z))) for z = ∓z_{1−α/2}.
    pub fn bca(&self, jackknife: &[f64], level: Level) -> Bca {
        if is_constant(&self.replicates) {
            let interval = self.between(0.0, 1.0, level, Method::Degenerate);
            return Bca { interval, correction: None };
        }
        let correction = self.correction(jackknife, level);
        let interval = correction.and_then(|c| self.between(c.lower_share, c.upper_share, level, Method::Bca));
        Bca { interval, correction }
    }

    fn between(&self, lower: f64, upper: f64, level: Level, method: Method) -> Option<Interval> {
        let lo = quantile_of_sorted(&self.replicates, lower)?;
        let hi = quantile_of_sorted(&self.replicates, upper)?;
        Some(Interval { lo, hi, level, method })
    }

    fn correction(&self, jackknife: &[f64], level: Level) -> Option<BcaCorrection> {
        let bias = normal_quantile(self.share_below_estimate());
        let acceleration = acceleration(jackknife)?;
        let share = |z: f64| {
            let shifted = bias + z;
            let scale = 1.0 - acceleration * shifted;
            (bias.is_finite() && scale > 0.0).then(|| normal_cdf(bias + shifted / scale))
        };
        Some(BcaCorrection { bias, acceleration, lower_share: share(-level.z())?, upper_share: share(level.z())? })
    }

    /// The share of replicates below the estimate, ties counting half. Discrete scores tie often,
    /// and rounding must not break their ties.
    fn share_below_estimate(&self) -> f64 {
        let spread = self.replicates[self.replicates.len() - 1] - self.replicates[0];
        let slack = 1e-12 * spread;
        let below = self.replicates.partition_point(|r| *r < self.estimate - slack);
        let up_to = self.replicates.partition_point(|r| *r <= self.estimate + slack);
        (below + up_to) as f64 / (2 * self.replicates.len()) as f64
    }
}

/// The statistic of the values without each one in turn; `None` when one of them is undefined.
pub fn jackknife(values: &[f64], statistic: impl Fn(&[f64]) -> Option<f64>) -> Option<Vec<f64>> {
    let mut rest: Vec<f64> = values.get(1..)?.to_vec();
    let mut left_out = Vec::with_capacity(values.len());
    for i in 0..values.len() {
        // `rest` holds every value but the i-th, in order.
        if i > 0 {
            rest[i - 1] = values[i - 1];
        }
        left_out.push(statistic(&rest)?);
    }
    Some(left_out)
}

/// The mean of the values without each one in turn, (Σ − x_i)/(n − 1), in time linear in their number; `None` for fewer
/// than two.
pub fn jackknife_mean(values: &[f64]) -> Option<Vec<f64>> {
    let (centre, rest) = (mean(values)?, values.len() as f64 - 1.0);
    (rest > 0.0).then(|| values.iter().map(|value| centre + (centre - value) / rest).collect())
}

/// Σu³/(6(Σu²)^{3/2}) with u_i = (n − 1)(θ̄ − θ_i); 0 when the jackknife does not vary.
fn acceleration(jackknife: &[f64]) -> Option<f64> {
    if is_constant(&sorted(jackknife)) {
        return Some(0.0).filter(|_| !jackknife.is_empty());
    }
    let centre = mean(jackknife)?;
    let scale = jackknife.len() as f64 - 1.0;
    let power = |k: i32| sum_of(jackknife.iter().map(|value| (scale * (centre - value)).powi(k)));
    let squares = power(2);
    Some(power(3) / (6.0 * squares * squares.sqrt())).filter(|a| a.is_finite())
}
