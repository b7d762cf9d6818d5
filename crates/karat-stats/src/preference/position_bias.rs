//! Does a pairwise judge favour a position? Both orders of every pair tell.

use crate::describe::Proportion;
use crate::interval::{Interval, Level};
use crate::numeric::special::two_sided_p;

/// The system that the judge preferred, by identity and not by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preferred {
    /// Candidate A.
    A,
    /// Candidate B.
    B,
    /// Neither.
    Tie,
}

/// Position bias of a judge over pairs judged in both orders.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PositionBias {
    /// Number of pairs.
    pub pairs: u64,
    /// Pairs with the same verdict in both orders.
    pub consistent: u64,
    /// Pairs in which the output shown first won both times.
    pub flips_to_first: u64,
    /// Pairs in which the output shown second won both times.
    pub flips_to_second: u64,
    /// Single judgments won by the output shown first.
    pub first_wins: u64,
    /// Single judgments won by the one shown second.
    pub second_wins: u64,
    /// Share of consistent pairs; `None` without pairs.
    pub consistency: Option<f64>,
    /// Wilson interval of the consistency.
    pub consistency_interval: Option<Interval>,
    /// Share of decisive judgments won by the one shown first; `None` without decisive ones.
    pub first_position_rate: Option<f64>,
    /// Exact two-sided binomial p-value of "flips go either way alike"; 1 without flips.
    pub p_value: f64,
    /// Mean score of A over both orders: win 1, tie ½, loss 0. Free of position bias.
    pub win_rate_a: Option<f64>,
}

/// Position bias from verdicts (with A shown first, with B shown first), one per pair.
pub fn position_bias(verdicts: &[(Preferred, Preferred)], level: Level) -> PositionBias {
    let count =
        |holds: fn(&(Preferred, Preferred)) -> bool| verdicts.iter().filter(|verdict| holds(verdict)).count() as u64;
    use Preferred::{A, B};
    let pairs = verdicts.len() as u64;
    let consistent = count(|(a_first, b_first)| a_first == b_first);
    let flips_to_first = count(|verdict| *verdict == (A, B));
    let flips_to_second = count(|verdict| *verdict == (B, A));
    let first_wins = count(|verdict| verdict.0 == A) + count(|verdict| verdict.1 == B);
    let second_wins = count(|verdict| verdict.0 == B) + count(|verdict| verdict.1 == A);
    let rate = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    let score: f64 = verdicts.iter().map(|(x, y)| x.score_of_a() + y.score_of_a()).sum();
    PositionBias {
        pairs,
        consistent,
        flips_to_first,
        flips_to_second,
        first_wins,
        second_wins,
        consistency: rate(consistent, pairs),
        consistency_interval: Proportion::new(consistent as f64, pairs as f64).map(|p| p.wilson(level)),
        first_position_rate: rate(first_wins, first_wins + second_wins),
        p_value: two_sided_p(flips_to_first, flips_to_first + flips_to_second),
        win_rate_a: (pairs > 0).then(|| score / (2.0 * pairs as f64)),
    }
}

impl Preferred {
    fn score_of_a(self) -> f64 {
        match self {
            Self::A => 1.0,
            Self::Tie => 0.5,
            Self::B => 0.0,
        }
    }
}
