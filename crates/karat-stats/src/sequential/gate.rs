//! Stopping a threshold gate early: is the mean of a fixed set of items at least the threshold?

use super::predictable::Predictable;
use crate::numeric::input::{InputError, in_domain, in_unit_interval, open_probability};

/// A gate over a fixed set of items with scores in \[0, 1\].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SequentialGate {
    /// Number of items in the set, N.
    pub population: u64,
    /// The gate passes when the mean over all N items is at least this.
    pub threshold: f64,
    /// Greatest probability, per direction, that an early verdict differs from the full run's.
    pub alpha: f64,
}

/// The verdict of a gate that need not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateVerdict {
    /// The mean is at least the threshold.
    Pass,
    /// It is below.
    Fail,
}

/// A verdict and when it was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateDecision {
    /// Items used, from 1.
    pub items: usize,
    /// The verdict.
    pub verdict: GateVerdict,
}

/// The state after one more item.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GatePoint {
    /// The final mean if all other items score 0.
    pub certain_lower: f64,
    /// The final mean if all other items score 1.
    pub certain_upper: f64,
    /// E-value against "mean ≤ threshold"; infinite once that is impossible.
    pub e_pass: f64,
    /// E-value against "mean ≥ threshold".
    pub e_fail: f64,
}

/// A gate followed over the items run so far.
#[derive(Debug, Clone, PartialEq)]
pub struct GateRun {
    /// One point per item.
    pub points: Vec<GatePoint>,
    /// The first certain verdict: no outcome of the other items can change it.
    pub certain: Option<GateDecision>,
    /// Items after which `e_pass` first reached 1/α.
    pub e_pass_stop: Option<usize>,
    /// Items after which `e_fail` first reached 1/α.
    pub e_fail_stop: Option<usize>,
    /// The earliest of the three; a certain verdict wins ties.
    pub decision: Option<GateDecision>,
}

/// Sums of scores this close to the threshold have reached it.
const SLACK: f64 = 1e-12;

/// Follows a gate over `scores` and says when it could have stopped.
///
/// Betting without replacement (Waudby-Smith & Ramdas 2020): e_pass = Π(1 + λ(x − μ_t)),
/// μ_t = (Nτ − S_{t−1})/(N − t + 1), λ = min(√(2 ln(1/α)/(t ln(1+t) σ²_{t−1})), ½/μ_t); e_fail bets the other
/// way. The error is at most α per direction at any stopping time over the random order: `scores`
/// must come in a seeded random order of the items, not in order of arrival.
///
/// ```
/// use karat_stats::sequential::{GateVerdict, SequentialGate, gate_early_stop};
///
/// // Ten items, at least half must pass: after five passes nothing can change the verdict.
/// let gate = SequentialGate { population: 10, threshold: 0.5, alpha: 0.05 };
/// let run = gate_early_stop(&[1.0, 1.0, 1.0, 1.0, 1.0], &gate)?;
/// assert_eq!(run.decision.map(|decision| (decision.items, decision.verdict)), Some((5, GateVerdict::Pass)));
/// assert_eq!(gate_early_stop(&[1.0, 0.0, 1.0], &gate)?.decision, None);
/// # Ok::<(), karat_stats::numeric::input::InputError>(())
/// ```
///
/// # Errors
/// Scores outside \[0, 1\], α outside (0, 1), a threshold that is not finite, more scores than items.
pub fn gate_early_stop(scores: &[f64], gate: &SequentialGate) -> Result<GateRun, InputError> {
    in_unit_interval("scores", scores)?;
    open_probability("alpha", gate.alpha)?;
    in_domain("threshold", gate.threshold, "a number", gate.threshold.is_finite())?;
    let size = gate.population as f64;
    let enough = gate.population >= scores.len() as u64 && gate.population > 0;
    in_domain("number of items", size, "at least 1 and the number of scores", enough)?;
    let log_term = (1.0 / gate.alpha).ln();
    let mut past = Predictable::new();
    let (mut sum, mut e_pass, mut e_fail) = (0.0, 1.0, 1.0);
    let points: Vec<GatePoint> = scores
        .iter()
        .enumerate()
        .map(|(before, &score)| {
            let mean = (size * gate.threshold - sum) / (size - before as f64);
            let bet = past.bet(log_term);
            if mean < 0.0 {
                (e_pass, e_fail) = (f64::INFINITY, 0.0);
            } else if mean > 1.0 {
                (e_pass, e_fail) = (0.0, f64::INFINITY);
            } else {
                e_pass *= 1.0 + bet.min(0.5 / mean) * (score - mean);
                e_fail *= 1.0 - bet.min(0.5 / (1.0 - mean)) * (score - mean);
            }
            past.add(score);
            sum += score;
            GatePoint {
                certain_lower: sum / size,
                certain_upper: (sum + size - (before + 1) as f64) / size,
                e_pass,
                e_fail,
            }
        })
        .collect();
    Ok(gate.decide(points))
}

impl SequentialGate {
    fn decide(&self, points: Vec<GatePoint>) -> GateRun {
        let threshold = self.threshold - SLACK;
        let certain = points.iter().enumerate().find_map(|(before, point)| {
            let verdict = if point.certain_lower >= threshold {
                GateVerdict::Pass
            } else if point.certain_upper < threshold {
                GateVerdict::Fail
            } else {
                return None;
            };
            let items = before + 1;
            Some(GateDecision { items, verdict })
        });
        let reached = |e: fn(&GatePoint) -> f64| {
            let before = points.iter().position(|point| e(point) >= 1.0 / self.alpha);
            before.map(|before| before + 1)
        };
        let e_pass_stop = reached(|point| point.e_pass);
        let e_fail_stop = reached(|point| point.e_fail);
        let on = |items: Option<usize>, verdict| items.map(|items| GateDecision { items, verdict });
        let candidates = [certain, on(e_pass_stop, GateVerdict::Pass), on(e_fail_stop, GateVerdict::Fail)];
        // `min_by_key` keeps the first of equals.
        let decision = candidates.into_iter().flatten().min_by_key(|decision| decision.items);
        GateRun { points, certain, e_pass_stop, e_fail_stop, decision }
    }
}
