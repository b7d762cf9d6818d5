//! The ranks that pairwise tests leave open.

use crate::compare::multiplicity::StepRule;
use crate::interval::Level;

/// The test of two candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairTest {
    /// Index of the first candidate.
    pub first: usize,
    /// Index of the second.
    pub second: usize,
    /// Above 0 if the first is better.
    pub advantage: f64,
    /// p of no difference; `None` where no test is possible.
    pub p: Option<f64>,
}

/// The best and the worst rank that a candidate may have, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankSet {
    /// Best possible rank.
    pub lo: usize,
    /// Worst possible rank.
    pub hi: usize,
}

/// The adjusted p of each pair, and the ranks of each of `candidates` that all pairs together leave open: from one after
/// those that are better to k less those that are worse, decided at 1 − `level` after Holm. Every true rank lies within
/// its set with at least this level (Mogstad et al. 2024; Klein, Wright & Wieczorek 2020).
pub fn rank_sets(candidates: usize, pairs: &[PairTest], level: Level) -> (Vec<Option<f64>>, Vec<RankSet>) {
    let p: Vec<Option<f64>> = pairs.iter().map(|pair| pair.p).collect();
    let adjusted = StepRule::Holm.adjust(&p);
    let mut sets = vec![RankSet { lo: 1, hi: candidates }; candidates];
    for (pair, p) in pairs.iter().zip(&adjusted) {
        if p.is_none_or(|p| p > level.alpha()) || pair.advantage.is_nan() || pair.advantage == 0.0 {
            continue;
        }
        let first_wins = pair.advantage > 0.0;
        let (better, worse) = if first_wins { (pair.first, pair.second) } else { (pair.second, pair.first) };
        if let Some(set) = sets.get_mut(better) {
            set.hi -= 1;
        }
        if let Some(set) = sets.get_mut(worse) {
            set.lo += 1;
        }
    }
    (adjusted, sets)
}
