//! The pairs of a tournament: which outputs of a row judges compare.

use crate::{Key, KeyBuilder, PlanHeader, RubricScorer, Versus};

/// The pairs that judges compare in each row, fixed by the plan before anything runs.
///
/// Pairs stand in the order of a round-robin schedule (circle method) of the shuffled systems, and each row takes the
/// next ones, cyclically. So over any number of rows the pairs differ by at most one game, and so do the systems within
/// the pairs of a row, up to one pair that joins two rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairDesign {
    /// Pairs of system indices, the smaller first.
    schedule: Vec<(usize, usize)>,
    per_row: usize,
}

impl PairDesign {
    /// A design for so many systems; `per_row` pairs in each row, or all of them.
    pub fn new(systems: usize, per_row: Option<u32>, seed: u64) -> Self {
        let schedule = match per_row {
            // Every row has every pair: the order says nothing.
            None => (0..systems).flat_map(|a| (a + 1..systems).map(move |b| (a, b))).collect(),
            Some(_) => round_robin(shuffle(systems, seed)),
        };
        let all = schedule.len();
        Self { per_row: per_row.map_or(all, |wanted| usize::try_from(wanted).unwrap_or(all).min(all)), schedule }
    }

    /// Number of pairs in each row.
    pub fn per_row(&self) -> usize {
        self.per_row
    }

    /// The pairs of a row as (smaller, larger) system index.
    pub fn pairs(&self, row: u64) -> impl Iterator<Item = (usize, usize)> + '_ {
        let all = self.schedule.len() as u64;
        let start = if all == 0 { 0 } else { (row % all) * self.per_row as u64 % all };
        let taken = self.schedule.iter().cycle().skip(usize::try_from(start).unwrap_or_default());
        taken.take(self.per_row).copied()
    }

    /// The systems that a system's output is compared with, ascending. A pair belongs to its system of the larger index,
    /// so that a system added at the end of a suite leaves the judgments of all others as they are.
    pub fn opponents(&self, row: u64, system: usize) -> Vec<usize> {
        let mut opponents: Vec<usize> =
            self.pairs(row).filter(|(_, owner)| *owner == system).map(|(other, _)| other).collect();
        opponents.sort_unstable();
        opponents
    }
}

impl PlanHeader {
    /// The pairs of a scorer with `versus: all`.
    pub fn pair_design(&self, scorer: &RubricScorer) -> Option<PairDesign> {
        let is_tournament = scorer.versus == Some(Versus::All);
        is_tournament.then(|| PairDesign::new(self.systems.len(), scorer.pairs_per_sample, self.run.seed))
    }
}

fn shuffle(systems: usize, seed: u64) -> Vec<usize> {
    let place =
        |system: &usize| -> Key { KeyBuilder::new("karat/pairs/1").number(seed).number(*system as u64).finish() };
    let mut order: Vec<usize> = (0..systems).collect();
    order.sort_by_cached_key(place);
    order
}

/// Every pair once: in each round one system stays and the others turn, so that each system has one game a round.
fn round_robin(order: Vec<usize>) -> Vec<(usize, usize)> {
    let mut seats: Vec<Option<usize>> = order.into_iter().map(Some).collect();
    if seats.len() % 2 == 1 {
        // Its partner of the round rests.
        seats.push(None);
    }
    let mut schedule = Vec::new();
    for _ in 1..seats.len() {
        let half = seats.len() / 2;
        let (left, right) = seats.split_at(half);
        let games = left.iter().zip(right.iter().rev()).filter_map(|(a, b)| Some(((*a)?, (*b)?)));
        schedule.extend(games.map(|(a, b)| (a.min(b), a.max(b))));
        seats[1..].rotate_right(1);
    }
    schedule
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// PW-01: over any number of rows, every pair is judged equally often within one.
    #[test]
    fn pairs_are_balanced_within_one() {
        for systems in 2..9 {
            let all = systems * (systems - 1) / 2;
            for per_row in 1..=all {
                let design = PairDesign::new(systems, Some(per_row as u32), 7);
                let mut games: BTreeMap<(usize, usize), u64> = BTreeMap::new();
                for row in 0..97 {
                    let pairs: Vec<_> = design.pairs(row).collect();
                    let distinct: std::collections::BTreeSet<_> = pairs.iter().collect();
                    assert_eq!((pairs.len(), distinct.len()), (per_row, per_row), "{systems} systems, row {row}");
                    pairs.into_iter().for_each(|pair| *games.entry(pair).or_default() += 1);
                    let counts = || (games.len() < all).then_some(0).into_iter().chain(games.values().copied());
                    let spread = counts().max().unwrap() - counts().min().unwrap();
                    assert!(spread <= 1, "{systems} systems, {per_row} pairs, row {row}: {games:?}");
                }
                assert!(games.keys().all(|(a, b)| a < b && *b < systems));
            }
        }
    }

    /// PW-01: the design is fixed by its seed, and another seed gives another one.
    #[test]
    fn a_seed_fixes_the_pairs() {
        let pairs = |seed| PairDesign::new(6, Some(2), seed).pairs(3).collect::<Vec<_>>();
        assert_eq!(pairs(1), pairs(1));
        assert!((2..9).any(|seed| pairs(seed) != pairs(1)));
    }

    /// PW-01: a system added at the end changes the opponents of no other.
    #[test]
    fn a_new_system_leaves_the_other_judgments() {
        let (five, six) = (PairDesign::new(5, None, 1), PairDesign::new(6, None, 1));
        for system in 0..5 {
            assert_eq!(five.opponents(0, system), six.opponents(0, system));
        }
        assert_eq!((six.opponents(4, 5), five.opponents(0, 0)), (vec![0, 1, 2, 3, 4], vec![]));
        assert_eq!(PairDesign::new(1, Some(3), 1).per_row(), 0);
    }
}
