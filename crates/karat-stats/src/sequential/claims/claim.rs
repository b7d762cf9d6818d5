//! The process of one claim: "the mean is at least the threshold", followed unit by unit.

use super::wealth::Mixture;
use crate::numeric::input::{InputError, in_domain, in_unit_interval, open_probability};
use crate::numeric::special::boundary;
use crate::sequential::predictable::Predictable;

/// Means and hypotheses this close are the same: sums of scores are rounded.
const SLACK: f64 = 1e-12;

/// Bets are relative to the null mean, which is kept this far from 0 and 1.
const NEAREST: f64 = 1e-9;

/// The side of the threshold on which the mean must lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bound {
    /// The mean is at least the threshold (`min`).
    AtLeast,
    /// The mean is at most the threshold (`max`).
    AtMost,
}

/// The mean that a claim is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Basis {
    /// The mean of this dataset, drawn without replacement in a random order (`decide: point`).
    Dataset,
    /// The mean of the population from which the dataset was drawn (`decide: interval`). Half of the error is kept for
    /// the interval of the full run, so p-values are doubled and nothing is certain before the end.
    Population,
}

/// The rule by which a claim is decided early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EarlyRule {
    /// A mixture of eight fixed bets: ⅛ Σ_c Π(1 ± c·(u−μ)/…).
    #[default]
    Betting,
    /// One bet by the variance so far: √(2 ln(1/α)/(t ln(1 + t) σ²_{t−1})), at most half of what the mean allows.
    SingleBet,
}

/// A claim: a gate's threshold, for one system and one group of samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClaimSpec {
    /// The threshold τ on the scale of the scores, \[0, 1\].
    pub threshold: f64,
    /// The side on which the mean must lie.
    pub bound: Bound,
    /// The mean that is meant.
    pub basis: Basis,
    /// The rule.
    pub rule: EarlyRule,
    /// The number of units G of the full run that hold a sample of the claim.
    pub units: u64,
    /// The most samples in one unit, n_max: the largest cluster, 1 without clusters.
    pub largest: u64,
    /// α of the run, which [`EarlyRule::SingleBet`] tunes its width to. Decisions compare
    /// p-values with a level of their own.
    pub alpha: f64,
}

/// A verdict that needs no statistics: no outcome of the other units can change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CertainVerdict {
    /// The claim holds.
    Pass,
    /// The claim does not hold.
    Fail,
}

/// The ends of the values of τ that are not rejected, on the scale of the scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClaimEnds {
    /// The lower end, in \[0, 1\].
    pub lower: f64,
    /// The upper end, in \[0, 1\].
    pub upper: f64,
}

/// The scores of one unit: their sum, scaled to \[0, 1\], and their count.
#[derive(Debug, Clone, Copy, PartialEq)]
struct UnitScores {
    sum: f64,
    n: u64,
}

/// The process of one claim over the units 1..t in their seeded order.
///
/// A unit's value is u = τ + Σ(x − τ)/n_max over its scored samples, so that the mean of u is at least τ exactly when
/// the mean over scored samples is, at any cluster sizes; samples without a score add 0. With S the sum of the t−1
/// earlier values and μ = (Gτ − S)/(G − t + 1) for the dataset or μ = τ for the population,
///
/// E⁺ = ⅛ Σ_c Π(1 + c(u−μ)/μ), E⁻ = ⅛ Σ_c Π(1 − c(u−μ)/(1−μ)), c ∈ {.02 .05 .1 .2 .35 .5 .7 .9}
///
/// are e-processes of "mean ≤ τ" and "mean ≥ τ" (Waudby-Smith & Ramdas 2020, 2023), hence p = min(1, 1/max E) holds at
/// any time of looking (Ville 1939). `AtMost` mirrors: 1 − x against 1 − τ.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    spec: ClaimSpec,
    seen: Vec<UnitScores>,
    process: Process,
}

impl Claim {
    /// A claim before its first unit.
    ///
    /// # Errors
    /// A threshold outside \[0, 1\], α outside (0, 1), a largest unit of 0 samples.
    pub fn new(spec: ClaimSpec) -> Result<Self, InputError> {
        in_unit_interval("threshold", &[spec.threshold])?;
        open_probability("alpha", spec.alpha)?;
        in_domain("the largest unit", spec.largest as f64, "at least 1 sample", spec.largest >= 1)?;
        let process = Process::new(&spec, spec.mirrored_threshold());
        Ok(Self { spec, seen: Vec::new(), process })
    }

    /// Its specification.
    pub fn spec(&self) -> &ClaimSpec {
        &self.spec
    }

    /// Adds the next unit in order: `sum` of the scores of its `n` scored samples, each scaled to \[0, 1\].
    ///
    /// # Errors
    /// A sum outside \[0, n\], more samples than the largest unit, more units than the full run has.
    pub fn add(&mut self, sum: f64, n: u64) -> Result<(), InputError> {
        let slack = SLACK * n as f64;
        let inside = sum >= -slack && sum <= n as f64 + slack;
        in_domain("the sum of a unit's scores", sum, "between 0 and their count; rescale the scores first", inside)?;
        in_domain("a unit's samples", n as f64, "at most the largest unit", n <= self.spec.largest)?;
        in_domain("the unit's number", self.seen.len() as f64 + 1.0, "at most the full run's units", !self.is_full())?;
        let sum = match self.spec.bound {
            Bound::AtLeast => sum,
            Bound::AtMost => n as f64 - sum,
        };
        let unit = UnitScores { sum: sum.clamp(0.0, n as f64), n };
        self.process.add(&self.spec, unit);
        self.seen.push(unit);
        Ok(())
    }

    /// Units added so far, t.
    pub fn units(&self) -> u64 {
        self.seen.len() as u64
    }

    /// Returns true once all units of the full run were added.
    pub fn is_full(&self) -> bool {
        self.units() >= self.spec.units
    }

    /// The anytime p-value of "the claim does not hold": small where it passes.
    pub fn p_pass(&self) -> f64 {
        self.process.p(&self.spec, Direction::Pass)
    }

    /// The anytime p-value of "the claim holds": small where it fails.
    pub fn p_fail(&self) -> f64 {
        self.process.p(&self.spec, Direction::Fail)
    }

    /// The logarithm of the largest E so far towards `direction`, without what is certain by the last unit.
    pub(super) fn log_e(&self, direction: Direction) -> f64 {
        self.process.best(direction)
    }

    /// The verdict that no outcome of the other units can change; `None` for a population.
    pub fn certain(&self) -> Option<CertainVerdict> {
        self.process.certain(&self.spec)
    }

    /// The mean of the scored samples so far, on the scale of the scores.
    pub fn mean(&self) -> Option<f64> {
        let n: u64 = self.seen.iter().map(|unit| unit.n).sum();
        let sum = crate::numeric::sum::sum_of(self.seen.iter().map(|unit| unit.sum));
        (n > 0).then(|| self.spec.mirror(sum / n as f64))
    }

    /// The thresholds that are just not rejected: with the claim's rule, the lower end is the greatest τ that would pass
    /// at `pass_level`, the upper one the least τ that would fail at `fail_level`. They agree with the decisions at the
    /// same levels, because E is monotone in τ; O(t) per step of a bisection.
    ///
    /// Evidence that contradicts itself can put the lower end above the upper one; [`Claims::ends`](super::Claims::ends)
    /// resolves it in favour of the verdict.
    pub fn ends(&self, pass_level: f64, fail_level: f64) -> ClaimEnds {
        let rejected = |threshold: f64, direction, level: f64| {
            let mut process = Process::new(&self.spec, threshold);
            self.seen.iter().for_each(|unit| process.add(&self.spec, *unit));
            process.p(&self.spec, direction) <= level
        };
        // The greatest τ that passes, found between one that does and one that does not; τ = 0 and τ = 1 are the ends
        // of the scale and need no evidence.
        let passes = |threshold| rejected(threshold, Direction::Pass, pass_level);
        let fails = |threshold| rejected(threshold, Direction::Fail, fail_level);
        let lower = if passes(1.0) { 1.0 } else { boundary(0.0, 1.0, passes) };
        let upper = if fails(0.0) { 0.0 } else { boundary(1.0, 0.0, fails) };
        self.spec.mirror_ends(lower, upper)
    }
}

impl ClaimSpec {
    /// τ for `AtLeast`, 1 − τ for `AtMost`.
    fn mirrored_threshold(&self) -> f64 {
        self.mirror(self.threshold)
    }

    fn mirror(&self, value: f64) -> f64 {
        match self.bound {
            Bound::AtLeast => value,
            Bound::AtMost => 1.0 - value,
        }
    }

    fn mirror_ends(&self, lower: f64, upper: f64) -> ClaimEnds {
        match self.bound {
            Bound::AtLeast => ClaimEnds { lower, upper },
            Bound::AtMost => ClaimEnds { lower: 1.0 - upper, upper: 1.0 - lower },
        }
    }
}

/// The direction of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Pass,
    Fail,
}

/// The wealth of the bets against one threshold. `AtMost` has been mirrored already.
#[derive(Debug, Clone, PartialEq)]
struct Process {
    threshold: f64,
    /// t, the units seen.
    seen: f64,
    /// S, the sum of their values u.
    sum: f64,
    evidence: Evidence,
}

#[derive(Debug, Clone, PartialEq)]
enum Evidence {
    Mixture(Box<[Mixture; 2]>),
    Single { past: Predictable, logs: [f64; 2], best: [f64; 2] },
}

impl Process {
    fn new(spec: &ClaimSpec, threshold: f64) -> Self {
        let evidence = match spec.rule {
            EarlyRule::Betting => Evidence::Mixture(Box::new([Mixture::new(), Mixture::new()])),
            EarlyRule::SingleBet => Evidence::Single { past: Predictable::new(), logs: [0.0; 2], best: [0.0; 2] },
        };
        Self { threshold, seen: 0.0, sum: 0.0, evidence }
    }

    fn add(&mut self, spec: &ClaimSpec, unit: UnitScores) {
        let (units, n) = (spec.units as f64, unit.n as f64);
        let value = self.threshold + (unit.sum - n * self.threshold) / spec.largest as f64;
        let mean = match spec.basis {
            Basis::Dataset => (units * self.threshold - self.sum) / (units - self.seen),
            Basis::Population => self.threshold,
        };
        self.seen += 1.0;
        self.sum += value;
        self.evidence.bet(value, mean, spec.alpha);
    }

    /// The log of the largest E so far.
    fn best(&self, direction: Direction) -> f64 {
        let at = match direction {
            Direction::Pass => 0,
            Direction::Fail => 1,
        };
        match &self.evidence {
            Evidence::Mixture(both) => both[at].best(),
            Evidence::Single { best, .. } => best[at],
        }
    }

    fn p(&self, spec: &ClaimSpec, direction: Direction) -> f64 {
        match (self.certain(spec), direction) {
            (Some(CertainVerdict::Pass), Direction::Pass) | (Some(CertainVerdict::Fail), Direction::Fail) => {
                return 0.0;
            }
            _ => {}
        }
        let share = match spec.basis {
            Basis::Dataset => 1.0,
            Basis::Population => 2.0,
        };
        (share * (-self.best(direction)).exp()).min(1.0)
    }

    fn certain(&self, spec: &ClaimSpec) -> Option<CertainVerdict> {
        let units = spec.units as f64;
        let (worst, best) = (self.sum / units, (self.sum + units - self.seen) / units);
        match spec.basis {
            Basis::Population => None,
            Basis::Dataset if worst >= self.threshold - SLACK => Some(CertainVerdict::Pass),
            Basis::Dataset if best < self.threshold - SLACK => Some(CertainVerdict::Fail),
            Basis::Dataset => None,
        }
    }
}

impl Evidence {
    /// Bets on `value` against the mean `mean` that the threshold leaves for it.
    fn bet(&mut self, value: f64, mean: f64, alpha: f64) {
        match self {
            Self::Mixture(both) => {
                let [pass, fail] = both.as_mut();
                if mean < -SLACK {
                    pass.win();
                } else if mean > 1.0 + SLACK {
                    fail.win();
                } else {
                    let mean = mean.clamp(NEAREST, 1.0 - NEAREST);
                    pass.bet((value - mean) / mean);
                    fail.bet((mean - value) / (1.0 - mean));
                }
            }
            Self::Single { past, logs, best } => {
                let bet = past.bet((1.0 / alpha).ln());
                past.add(value);
                if mean < -SLACK {
                    best[0] = f64::INFINITY;
                } else if mean > 1.0 + SLACK {
                    best[1] = f64::INFINITY;
                } else {
                    let mean = mean.clamp(NEAREST, 1.0 - NEAREST);
                    logs[0] += (bet.min(0.5 / mean) * (value - mean)).ln_1p();
                    logs[1] += (bet.min(0.5 / (1.0 - mean)) * (mean - value)).ln_1p();
                    best[0] = best[0].max(logs[0]);
                    best[1] = best[1].max(logs[1]);
                }
            }
        }
    }
}
