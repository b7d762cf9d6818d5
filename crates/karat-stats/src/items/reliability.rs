//! Split-half reliability: would another half of the items rank the systems alike?

use rand_chacha::rand_core::Rng;

use crate::agreement::pearson;
use crate::bootstrap::{Resampling, bootstrap_indices};
use crate::describe::mean;
use crate::interval::{Interval, Level};
use crate::numeric::seed::Seed;

/// Fewer systems give no reliability.
pub const RELIABILITY_FROM: usize = 4;

/// Fewer systems give no interval.
const INTERVAL_FROM: usize = 8;

/// Resamples of the interval: each repeats all halves.
const RESAMPLES: usize = 500;

/// The agreement of two halves of a set about its systems, for the length of the whole set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reliability {
    /// 2r/(1 + r) for the mean correlation r of the halves (Spearman, Brown); r itself where it is negative.
    pub value: f64,
    /// Percentile bootstrap over systems, from eight.
    pub interval: Option<Interval>,
    /// Number of random halvings.
    pub splits: usize,
}

/// The split-half reliability over `splits` random halvings of the items. `scores` has a row for each item, with a score of
/// each system that answered it. Scores are set in relation to their item's mean, so that systems with other items
/// compare.
///
/// `None` with fewer than [`RELIABILITY_FROM`] systems, fewer than two items, or systems that do not differ.
pub fn split_half(scores: &[Vec<Option<f64>>], splits: usize, level: Level, seed: Seed) -> Option<Reliability> {
    let systems = scores.iter().map(Vec::len).max()?;
    if systems < RELIABILITY_FROM || scores.len() < 2 || splits == 0 {
        return None;
    }
    let centred: Vec<Vec<Option<f64>>> = scores.iter().map(|item| centre(item)).collect();
    let halves: Vec<Halves> =
        (0..splits).filter_map(|split| Halves::of(&centred, systems, seed.stream(split as u64))).collect();
    let correlation = |systems: &[usize]| {
        let each: Vec<f64> = halves.iter().filter_map(|halves| halves.correlation(systems, level)).collect();
        mean(&each).map(lengthen)
    };
    let all: Vec<usize> = (0..systems).collect();
    let value = correlation(&all)?;
    let how = Resampling { resamples: RESAMPLES, ..Resampling::new(seed.derive(1)) };
    let interval = (systems >= INTERVAL_FROM).then(|| bootstrap_indices(systems, correlation, &how)?.percentile(level));
    Some(Reliability { value, interval: interval.flatten(), splits: halves.len() })
}

/// Spearman-Brown: the reliability of a set that is twice as long.
fn lengthen(r: f64) -> f64 {
    if r > 0.0 { 2.0 * r / (1.0 + r) } else { r }
}

fn centre(item: &[Option<f64>]) -> Vec<Option<f64>> {
    let known: Vec<f64> = item.iter().flatten().copied().collect();
    let centre = mean(&known).unwrap_or_default();
    item.iter().map(|score| score.map(|score| score - centre)).collect()
}

/// The mean of each system in both halves.
struct Halves([Vec<Option<f64>>; 2]);

impl Halves {
    fn of(centred: &[Vec<Option<f64>>], systems: usize, mut random: impl Rng) -> Option<Self> {
        let mut order: Vec<usize> = (0..centred.len()).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, (random.next_u64() % (at as u64 + 1)) as usize);
        }
        let (first, second) = order.split_at_checked(order.len() / 2)?;
        let means = |items: &[usize]| {
            let of = |system: usize| {
                let scores = items.iter().filter_map(|at| centred.get(*at)?.get(system).copied().flatten());
                let (sum, n) = scores.fold((0.0, 0_u32), |(sum, n), score| (sum + score, n + 1));
                (n > 0).then(|| sum / f64::from(n))
            };
            (0..systems).map(of).collect()
        };
        Some(Self([means(first), means(second)]))
    }

    fn correlation(&self, systems: &[usize], level: Level) -> Option<f64> {
        let Self([first, second]) = self;
        let pair = |at: &usize| Some(((*first.get(*at)?)?, (*second.get(*at)?)?));
        let (first, second): (Vec<f64>, Vec<f64>) = systems.iter().filter_map(pair).unzip();
        Some(pearson(&first, &second, level).ok()??.correlation.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(random: &mut impl Rng, chance: f64) -> Option<f64> {
        Some(f64::from(u8::from(f64::from(random.next_u32()) / 4_294_967_296.0 < chance)))
    }

    fn set(items: usize, chances: &[f64]) -> Vec<Vec<Option<f64>>> {
        let mut random = Seed(5).stream(9);
        (0..items).map(|_| chances.iter().map(|chance| score(&mut random, *chance)).collect()).collect()
    }

    /// BC-09: systems that differ are ranked alike by both halves, equal ones are not; Spearman-Brown by hand.
    #[test]
    fn halves_agree_about_systems_that_differ() {
        let spread: Vec<f64> = (0..10).map(|at| 0.3 + 0.06 * f64::from(at)).collect();
        let good = split_half(&set(200, &spread), 50, Level::P95, Seed(1)).unwrap();
        assert!(good.value > 0.8, "{good:?}");
        assert!(good.interval.is_some_and(|it| it.lo <= good.value && good.value <= it.hi));
        let noise = split_half(&set(200, &[0.5; 10]), 50, Level::P95, Seed(1)).unwrap();
        assert!(noise.value < 0.6, "{noise:?}");
        assert!((lengthen(0.5) - 2.0 / 3.0).abs() < 1e-12);
    }

    /// BC-09: the classical formula predicts the reliability: variance between systems over variance of their means.
    #[test]
    fn reliability_is_the_share_of_true_variance() {
        let chances: Vec<f64> = (0..40).map(|at| 0.4 + 0.005 * f64::from(at)).collect();
        let found = split_half(&set(300, &chances), 60, Level::P95, Seed(2)).unwrap();
        let centre = mean(&chances).unwrap();
        let between: f64 = chances.iter().map(|chance| (chance - centre).powi(2)).sum::<f64>() / 39.0;
        let error: f64 = chances.iter().map(|chance| chance * (1.0 - chance) / 300.0).sum::<f64>() / 40.0;
        let expected = between / (between + error);
        assert!((found.value - expected).abs() < 0.12, "{} {expected}", found.value);
    }

    /// BC-09: systems with gaps compare by what they answered; too little says nothing.
    #[test]
    fn gaps_and_small_sets_are_told_apart() {
        let spread: Vec<f64> = (0..8).map(|at| 0.1 + 0.1 * f64::from(at)).collect();
        let mut scores = set(100, &spread);
        for (at, item) in scores.iter_mut().enumerate() {
            item[at % 8] = None;
        }
        assert!(split_half(&scores, 20, Level::P95, Seed(1)).unwrap().value > 0.7);
        assert_eq!(split_half(&set(100, &spread[..3]), 20, Level::P95, Seed(1)), None);
        assert_eq!(split_half(&set(1, &spread), 20, Level::P95, Seed(1)), None);
        assert_eq!(split_half(&[], 20, Level::P95, Seed(1)), None);
        assert_eq!(split_half(&vec![vec![Some(1.0); 8]; 20], 20, Level::P95, Seed(1)), None);
        let four = split_half(&set(100, &spread[..4]), 20, Level::P95, Seed(1)).unwrap();
        assert_eq!(four.interval, None);
    }
}
