//! The hedged-capital betting confidence sequence, with and without replacement.

use super::predictable::bets;
use crate::numeric::input::{InputError, in_domain, in_unit_interval, open_probability};
use crate::numeric::special::find_root;

/// A bet is capped so that one value loses at most this share of the wealth.
const MOST_LOST: f64 = 0.5;

/// Bets against every possible mean of scores in \[0, 1\]; the means that lose too much are excluded.
///
/// λ_t = √(2 ln(2/α)/(t ln(1+t) σ²_{t−1})) from the past only; K⁺(m) = Π(1 + min(λ, ½/μ)(x − μ)),
/// K⁻(m) = Π(1 − min(λ, ½/(1−μ))(x − μ)); the set at time t is {m: max(K⁺, K⁻)/2 < 1/α}. With
/// replacement μ_t = m; without, from a fixed population of N items, μ_t = (Nm − S_{t−1})/(N − t + 1)
/// (Waudby-Smith & Ramdas 2020, 2023). All sets hold together with probability 1 − α.
#[derive(Debug, Clone, PartialEq)]
pub struct BettingSequence {
    values: Vec<f64>,
    bets: Vec<f64>,
    alpha: f64,
    population: Option<f64>,
}

/// The wealth of the bets against one mean after one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wealth {
    /// K⁺: bets that the mean is larger. Infinite when the mean has become impossible.
    pub plus: f64,
    /// K⁻: bets that it is smaller.
    pub minus: f64,
    /// max(K⁺, K⁻)/2.
    pub hedged: f64,
}

/// The ends of a confidence set; `None` where that side excludes every mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Lower end.
    pub lower: Option<f64>,
    /// Upper end.
    pub upper: Option<f64>,
}

impl BettingSequence {
    /// Bets on `values`, in the order in which they came; `population` is N when they are drawn
    /// without replacement from N items.
    ///
    /// # Errors
    /// Values outside \[0, 1\], α outside (0, 1), or more values than the population has.
    pub fn new(values: &[f64], alpha: f64, population: Option<u64>) -> Result<Self, InputError> {
        in_unit_interval("values", values)?;
        open_probability("alpha", alpha)?;
        if let Some(size) = population {
            let enough = size >= values.len() as u64;
            in_domain("population", size as f64, "at least the number of values", enough)?;
        }
        Ok(Self {
            values: values.to_vec(),
            bets: bets(values, (2.0 / alpha).ln()),
            alpha,
            population: population.map(|size| size as f64),
        })
    }

    /// The wealth against the mean `m` after each value.
    pub fn wealth(&self, m: f64) -> Vec<Wealth> {
        let (mut plus, mut minus) = (0.0, 0.0);
        let steps = self.steps(m, self.values.len());
        let points = steps.map(|step| {
            plus += step.log_plus();
            minus += step.log_minus();
            let (plus, minus) = (f64::exp(plus), f64::exp(minus));
            Wealth { plus, minus, hedged: 0.5 * plus.max(minus) }
        });
        points.collect()
    }

    /// The confidence set after the first `t` values (at most all), found by root search in log
    /// wealth; O(t) per evaluation. Without replacement the ends also keep to the means that are
    /// still possible. Not intersected with earlier sets.
    pub fn bounds(&self, t: usize) -> Bounds {
        let t = t.min(self.values.len());
        let (low, high) = self.possible(t);
        let limit = (2.0 / self.alpha).ln();
        let plus = |m: f64| self.steps(m, t).map(Step::log_plus).sum::<f64>() - limit;
        let minus = |m: f64| self.steps(m, t).map(Step::log_minus).sum::<f64>() - limit;
        // K⁺ falls and K⁻ rises with m.
        let lower = if plus(low) < 0.0 { Some(low) } else { find_root(plus, low, high) };
        let upper = if minus(high) < 0.0 { Some(high) } else { find_root(minus, low, high) };
        Bounds { lower, upper }
    }

    /// The means that `t` values leave possible.
    fn possible(&self, t: usize) -> (f64, f64) {
        self.population.map_or((0.0, 1.0), |size| {
            let seen: f64 = self.values[..t].iter().sum();
            (seen / size, (seen + size - t as f64) / size)
        })
    }

    fn steps(&self, m: f64, t: usize) -> impl Iterator<Item = Step> {
        let mut sum = 0.0;
        let bets = self.values.iter().zip(&self.bets).take(t).enumerate();
        bets.map(move |(before, (&value, &bet))| {
            let mean = match self.population {
                None => Some(m),
                Some(size) => mean_of_rest(size, m, before as f64, sum),
            };
            sum += value;
            Step { value, bet, mean }
        })
    }
}

/// The mean of the items not yet seen if that of all `size` items is `m`; `None` when no scores in
/// \[0, 1\] have it.
fn mean_of_rest(size: f64, m: f64, seen: f64, sum: f64) -> Option<f64> {
    let (rest, left) = (size * m - sum, size - seen);
    let slack = ROUNDING * size;
    (rest >= -slack && rest <= left + slack).then(|| (rest / left).clamp(0.0, 1.0))
}

/// Sums of scores are off by less than this share of the number of items.
const ROUNDING: f64 = 1e-14;

/// One bet on one value against the mean that the hypothesis gives it, if it is possible at all.
#[derive(Clone, Copy)]
struct Step {
    value: f64,
    bet: f64,
    mean: Option<f64>,
}

impl Step {
    fn log_plus(self) -> f64 {
        self.mean.map_or(f64::INFINITY, |mean| (self.bet.min(MOST_LOST / mean) * (self.value - mean)).ln_1p())
    }

    fn log_minus(self) -> f64 {
        self.mean.map_or(f64::INFINITY, |mean| (self.bet.min(MOST_LOST / (1.0 - mean)) * (mean - self.value)).ln_1p())
    }
}
