//! A race of systems: those that cannot be the dataset's best are dropped.

use super::claim::{Basis, Bound, Claim, ClaimSpec, Direction, EarlyRule};
use crate::numeric::input::{InputError, in_domain, open_probability, same_length};

/// A race before or after some units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RaceSpec {
    /// Number of systems k.
    pub systems: usize,
    /// Units G of the full run.
    pub units: u64,
    /// The most samples in one unit.
    pub largest: u64,
    /// Units before a system may be dropped.
    pub min_units: u64,
}

/// A dropped system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RaceDrop {
    /// Its index.
    pub system: usize,
    /// The index of the system that beat it.
    pub by: usize,
    /// Units that it took.
    pub units: u64,
}

/// k systems whose means are compared pair by pair.
///
/// System i is dropped when a living j has E⁺ ≥ (k − 1)/α on x = (x_j − x_i + 1)/2 against ½, over this dataset and
/// with the bets of [`Claim`]. P(the dataset's best is dropped) ≤ α: it loses to each of the k − 1 others with
/// probability at most α/(k − 1). Pairs miss samples that either system misses.
#[derive(Debug, Clone, PartialEq)]
pub struct Race {
    spec: RaceSpec,
    alpha: f64,
    /// The claim of (j, i), j < i, that j is at least as good as i.
    pairs: Vec<Claim>,
    drops: Vec<RaceDrop>,
    units: u64,
}

impl Race {
    /// A race before its first unit.
    ///
    /// # Errors
    /// Fewer than two systems, α outside (0, 1), a largest unit of 0 samples.
    pub fn new(spec: RaceSpec, alpha: f64) -> Result<Self, InputError> {
        open_probability("alpha", alpha)?;
        in_domain("the number of systems", spec.systems as f64, "at least 2", spec.systems >= 2)?;
        let claim = ClaimSpec {
            threshold: 0.5,
            bound: Bound::AtLeast,
            basis: Basis::Dataset,
            rule: EarlyRule::Betting,
            units: spec.units,
            largest: spec.largest,
            alpha,
        };
        let pairs = spec.systems * (spec.systems - 1) / 2;
        let pairs = (0..pairs).map(|_| Claim::new(claim)).collect::<Result<_, _>>()?;
        Ok(Self { spec, alpha, pairs, drops: Vec::new(), units: 0 })
    }

    /// Adds the next unit in order: for each system the scores of its samples, scaled to \[0, 1\], larger is better, in
    /// the same order; `None` where a sample has no score. What is given for dropped systems is ignored. Returns the
    /// systems that this unit drops.
    ///
    /// # Errors
    /// Another number of systems or, among living systems, of samples; scores outside \[0, 1\]; too many units.
    pub fn add<S: AsRef<[Option<f64>]>>(&mut self, scores: &[S]) -> Result<&[RaceDrop], InputError> {
        same_length("scores", scores.len(), "systems", self.spec.systems)?;
        let living: Vec<usize> = self.living().collect();
        for (nth, j) in living.iter().enumerate() {
            for i in &living[nth + 1..] {
                let (one, other) = (scores[*j].as_ref(), scores[*i].as_ref());
                same_length("a system's scores", one.len(), "those of another", other.len())?;
                let paired = one.iter().zip(other).filter_map(|(one, other)| Some(0.5 * ((*one)? - (*other)? + 1.0)));
                let (sum, n) = paired.fold((0.0, 0), |(sum, n), x| (sum + x, n + 1));
                let pair = self.pair(*j, *i);
                self.pairs[pair].add(sum, n)?;
            }
        }
        self.units += 1;
        let before = self.drops.len();
        while let Some(drop) = self.next_drop() {
            self.drops.push(drop);
        }
        Ok(&self.drops[before..])
    }

    /// The systems still in the race, at least one.
    pub fn living(&self) -> impl Iterator<Item = usize> {
        (0..self.spec.systems).filter(|system| self.drops.iter().all(|drop| drop.system != *system))
    }

    /// Units added so far.
    pub fn units(&self) -> u64 {
        self.units
    }

    /// The dropped systems, in the order in which they were.
    pub fn drops(&self) -> &[RaceDrop] {
        &self.drops
    }

    /// Returns true once one system is left.
    pub fn is_decided(&self) -> bool {
        self.living().count() == 1
    }

    /// The living system that is beaten most clearly, if one is beaten.
    fn next_drop(&self) -> Option<RaceDrop> {
        let limit = ((self.spec.systems as f64 - 1.0) / self.alpha).ln();
        let living: Vec<usize> = self.living().collect();
        let pairs = living.iter().flat_map(|i| living.iter().map(|j| (*i, *j))).filter(|(i, j)| i != j);
        let beaten = pairs.map(|(i, j)| (i, j, self.log_e(j, i))).filter(|(.., log_e)| *log_e >= limit);
        let early = self.units < self.spec.min_units;
        let ready = beaten.filter(|(.., log_e)| !early || log_e.is_infinite());
        // The first of equals, so that the order of the systems alone breaks ties.
        let first_largest =
            |one: (usize, usize, f64), other: (usize, usize, f64)| if other.2 > one.2 { other } else { one };
        let (system, by, _) = ready.reduce(first_largest)?;
        Some(RaceDrop { system, by, units: self.units })
    }

    /// The logarithm of the evidence that j is better than i. A certain tie is none.
    fn log_e(&self, j: usize, i: usize) -> f64 {
        // The claim is about the smaller index; the other direction is its mirror image.
        let direction = if j < i { Direction::Pass } else { Direction::Fail };
        self.pairs[self.pair(j, i)].log_e(direction)
    }

    fn pair(&self, one: usize, other: usize) -> usize {
        let (small, large) = (one.min(other), one.max(other));
        large * (large - 1) / 2 + small
    }
}
