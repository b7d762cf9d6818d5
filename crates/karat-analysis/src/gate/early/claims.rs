//! One claim: the scale on which its scores lie between 0 and 1, and the scores that it misses.

use karat_stats::sequential::{Basis, Bound, ClaimSpec, MissingScores};
use karat_types::{EarlyRule, Key};
use serde_json::Value;

use crate::gate::case::BoundKind;
use crate::gate::verdict_text::nearly_equal;
use crate::score::matched_cells::MissingCount;

/// The numbers of a claim.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scale {
    /// Scores, or changes of scores, within the metric's range.
    Scores(f64, f64),
    /// 1 for a score within the bound: the percentile is within it exactly when at least this share of scores are.
    WithinBound(f64),
}

/// A claim and its course.
#[derive(Debug, Clone)]
pub(super) struct FollowedClaim {
    /// Index of its gate among the followed ones.
    pub(super) gate: usize,
    /// Index of its set of systems in the gate.
    pub(super) set: usize,
    /// The value of its group.
    pub(super) group: Option<Value>,
    /// Index of its metric.
    pub(super) metric: usize,
    pub(super) bound: BoundKind,
    /// The bound as written in the gate.
    pub(super) written: f64,
    /// The bound in the metric's unit.
    pub(super) size: f64,
    pub(super) scale: Scale,
    /// Its cells in the plan.
    pub(super) planned: u64,
    /// Its units in the plan.
    pub(super) units: u64,
    /// Samples of its largest unit.
    pub(super) largest: u64,
    /// Scored samples, or pairs, so far.
    pub(super) n: u64,
    pub(super) missing: MissingCount,
    /// Pairs without a score on one side.
    pub(super) lacking: MissingCount,
    /// The unit that decided it.
    pub(super) last: Option<Key>,
    /// The reason why no verdict is possible any more.
    pub(super) why: Option<String>,
}

/// The statistic of a rule. A run is not followed by `Asymptotic`: see [`EarlyStop::new`](super::EarlyStop::new).
pub(super) fn statistic_of(rule: EarlyRule) -> karat_stats::sequential::EarlyRule {
    match rule {
        EarlyRule::Betting | EarlyRule::Asymptotic => karat_stats::sequential::EarlyRule::Betting,
        EarlyRule::EValue => karat_stats::sequential::EarlyRule::SingleBet,
    }
}

impl FollowedClaim {
    /// Its statistics.
    pub(super) fn spec(&self, basis: Basis, rule: EarlyRule, alpha: f64) -> ClaimSpec {
        ClaimSpec {
            threshold: self.threshold(),
            bound: match (self.scale, self.bound.is_least()) {
                (Scale::WithinBound(_), _) | (_, true) => Bound::AtLeast,
                (Scale::Scores(..), false) => Bound::AtMost,
            },
            basis,
            rule: statistic_of(rule),
            units: self.units,
            largest: self.largest,
            alpha,
        }
    }

    /// The bound between 0 and 1. A drop of at most 0.5 is a change of at least −0.5.
    fn threshold(&self) -> f64 {
        if let Scale::WithinBound(share) = self.scale {
            return share;
        }
        let change = if self.bound == BoundKind::MaxDrop { -self.size } else { self.size };
        self.scale_score(change).clamp(0.0, 1.0)
    }

    /// A score or change between 0 and 1.
    pub(super) fn scale_score(&self, value: f64) -> f64 {
        match (self.scale, self.bound.is_change()) {
            (Scale::WithinBound(_), _) => f64::from(u8::from(value <= self.size || nearly_equal(value, self.size))),
            (Scale::Scores(lo, hi), true) => 0.5 * (value / (hi - lo) + 1.0),
            (Scale::Scores(lo, hi), false) => (value - lo) / (hi - lo),
        }
    }

    /// A number between 0 and 1 in the metric's unit; a share stays one.
    pub(super) fn in_unit(&self, scaled: f64) -> f64 {
        match (self.scale, self.bound.is_change()) {
            (Scale::WithinBound(_), _) => scaled,
            (Scale::Scores(lo, hi), true) => (2.0 * scaled - 1.0) * (hi - lo),
            (Scale::Scores(lo, hi), false) => lo + scaled * (hi - lo),
        }
    }

    /// The share of samples that must keep the bound, of a percentile.
    pub(super) fn share(&self) -> Option<f64> {
        match self.scale {
            Scale::WithinBound(share) => Some(share),
            Scale::Scores(..) => None,
        }
    }

    /// The scores that are missing; `limit` is the policy's share. Notes the reason once no verdict is possible.
    pub(super) fn missing_scores(&mut self, limit: f64) -> MissingScores {
        let worst = if self.lacking.share() > self.missing.share() { self.lacking } else { self.missing };
        if self.why.is_none() && worst.n > limit * self.planned as f64 {
            let allowed = limit * 100.0;
            self.why = Some(format!(
                "{} of its {} planned cells have no score, and the policy allows {allowed:.1} %",
                worst.number_text(),
                self.planned
            ));
        }
        match self.why {
            Some(_) => MissingScores::TooMany,
            None if worst.share() > limit => MissingScores::Many,
            None => MissingScores::Few,
        }
    }
}
