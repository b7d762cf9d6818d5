//! The pass rate behind an imperfect binary judge (Rogan & Gladen 1978).

use crate::interval::{Interval, Level, Method};
use crate::numeric::input::{InputError, in_domain};

/// Counts of a binary judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JudgeCounts {
    /// Items the judge passed, among `judge_total` without human labels.
    pub judge_pass: u64,
    /// Items without human labels.
    pub judge_total: u64,
    /// Items the judge passed among `human_pos`.
    pub true_pos: u64,
    /// Labelled items that people passed.
    pub human_pos: u64,
    /// Items the judge failed among `human_neg`.
    pub true_neg: u64,
    /// Labelled items that people failed.
    pub human_neg: u64,
}

/// The corrected pass rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoganGladen {
    /// Share the judge passed, p.
    pub raw_rate: Option<f64>,
    /// Share of human passes that the judge passes, q1.
    pub sensitivity: Option<f64>,
    /// Share of human fails that the judge fails, q0.
    pub specificity: Option<f64>,
    /// J = q1 + q0 − 1; 0 is a coin.
    pub youden_j: Option<f64>,
    /// The correction; `None` without data or when the judge is no better than chance (J ≤ 0).
    pub corrected: Option<CorrectedRate>,
}

/// The estimate of [`rogan_gladen`] with its intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CorrectedRate {
    /// (p + q0 − 1)/J, which can leave \[0, 1\].
    pub unclipped: f64,
    /// The same, clipped to \[0, 1\].
    pub estimate: f64,
    /// Standard error by the delta method, at the clipped estimate.
    pub standard_error: f64,
    /// Estimate ± z·SE, clipped to \[0, 1\].
    pub delta_interval: Interval,
    /// Lang & Reiczigel 2014, clipped to \[0, 1\]; need not hold the estimate. `None` when the shrunk
    /// J is not positive.
    pub interval: Option<Interval>,
}

/// Rogan-Gladen correction θ = (p + q0 − 1)/(q0 + q1 − 1) of a judge's pass rate.
///
/// Var θ = \[p(1−p)/N + (1−θ)²q0(1−q0)/n0 + θ²q1(1−q1)/n1\]/J². On labels drawn at random from the same
/// items it is worse than the labels alone: use [`people_mean`](crate::inference::people_mean) there, and this where
/// q0 and q1 come from elsewhere.
///
/// # Errors
/// A count larger than its total.
pub fn rogan_gladen(counts: &JudgeCounts, level: Level) -> Result<RoganGladen, InputError> {
    let raw_rate = share("judge passes", counts.judge_pass, counts.judge_total)?;
    let sensitivity = share("true positives", counts.true_pos, counts.human_pos)?;
    let specificity = share("true negatives", counts.true_neg, counts.human_neg)?;
    let rates = raw_rate.zip(sensitivity).zip(specificity);
    let youden_j = rates.map(|((_, q1), q0)| q1 + q0 - 1.0);
    let corrected = rates.and_then(|((p, q1), q0)| counts.correct_rate(p, q1, q0, level));
    Ok(RoganGladen { raw_rate, sensitivity, specificity, youden_j, corrected })
}

fn share(name: &'static str, part: u64, total: u64) -> Result<Option<f64>, InputError> {
    in_domain(name, part as f64, "at most its total", part <= total)?;
    Ok((total > 0).then(|| part as f64 / total as f64))
}

impl JudgeCounts {
    fn correct_rate(&self, p: f64, q1: f64, q0: f64, level: Level) -> Option<CorrectedRate> {
        // Compare integers: q1 + q0 − 1 of a chance judge can round to a tiny positive number.
        let cross = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let better_than_chance = cross(self.true_pos, self.human_neg) + cross(self.true_neg, self.human_pos)
            > cross(self.human_pos, self.human_neg);
        if !better_than_chance {
            return None;
        }
        let j = q1 + q0 - 1.0;
        let unclipped = (p + q0 - 1.0) / j;
        let estimate = unclipped.clamp(0.0, 1.0);
        let sampling = Sampling {
            judged: self.judge_total as f64,
            positives: self.human_pos as f64,
            negatives: self.human_neg as f64,
        };
        let standard_error = sampling.standard_error(p, q1, q0, estimate);
        Some(CorrectedRate {
            unclipped,
            estimate,
            standard_error,
            delta_interval: Interval::around(estimate, level.z() * standard_error, level, Method::Delta).clip(0.0, 1.0),
            interval: self.lang_reiczigel(level),
        })
    }

    /// p shrunk as by Wilson, q's with one success and one failure added, centre shifted by
    /// 2z²(θ'q1'(1−q1')/n1' − (1−θ')q0'(1−q0')/n0').
    fn lang_reiczigel(&self, level: Level) -> Option<Interval> {
        let z = level.z();
        let sampling = Sampling {
            judged: self.judge_total as f64 + z * z,
            positives: self.human_pos as f64 + 2.0,
            negatives: self.human_neg as f64 + 2.0,
        };
        let p = (self.judge_pass as f64 + 0.5 * z * z) / sampling.judged;
        let q1 = (self.true_pos as f64 + 1.0) / sampling.positives;
        let q0 = (self.true_neg as f64 + 1.0) / sampling.negatives;
        let j = q1 + q0 - 1.0;
        if j <= 0.0 {
            return None;
        }
        let theta = (p + q0 - 1.0) / j;
        let shift = 2.0
            * z
            * z
            * (theta * q1 * (1.0 - q1) / sampling.positives - (1.0 - theta) * q0 * (1.0 - q0) / sampling.negatives);
        let half_width = z * sampling.standard_error(p, q1, q0, theta);
        Some(Interval::around(theta + shift, half_width, level, Method::LangReiczigel).clip(0.0, 1.0))
    }
}

/// Sample sizes behind p, q1 and q0.
struct Sampling {
    judged: f64,
    positives: f64,
    negatives: f64,
}

impl Sampling {
    fn standard_error(&self, p: f64, q1: f64, q0: f64, theta: f64) -> f64 {
        let variance = p * (1.0 - p) / self.judged
            + (1.0 - theta).powi(2) * q0 * (1.0 - q0) / self.negatives
            + theta.powi(2) * q1 * (1.0 - q1) / self.positives;
        variance.sqrt() / (q1 + q0 - 1.0)
    }
}
