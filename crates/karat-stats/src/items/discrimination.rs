//! Discrimination of an item: its correlation with the rest of the set, over systems.

use crate::agreement::pearson;
use crate::bootstrap::{Resampling, bootstrap_indices};
use crate::interval::{Interval, Level};
use crate::numeric::input::{InputError, finite_pairs};

/// Fewer systems give no discrimination.
pub const DISCRIMINATION_FROM: usize = 8;

/// With fewer systems that differ from the most frequent score, most resamples have a single score.
const DIFFERING_FROM: usize = 2;

/// p-value of the t test below which an item can be negative: the bootstrap of few systems is too narrow alone.
const NEGATIVE_P: f64 = 0.05;

/// The item-rest correlation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Discrimination {
    /// Pearson's correlation of the item's scores with those of the rest.
    pub value: f64,
    /// Percentile bootstrap over systems.
    pub interval: Interval,
    /// Two-sided p-value of no association, by t with n − 2 degrees of freedom.
    pub p_value: f64,
}

impl Discrimination {
    /// Returns true if better systems do worse on the item: the interval is below 0, and the t test rejects.
    pub fn is_negative(&self) -> bool {
        self.interval.hi < 0.0 && self.p_value < NEGATIVE_P
    }
}

/// The reason why an item has no discrimination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoDiscrimination {
    /// There are fewer than [`DISCRIMINATION_FROM`] systems.
    FewSystems,
    /// All systems, or all but one, have the same score of the item.
    SameScores,
    /// All systems have the same score of the rest.
    SameRest,
}

/// The correlation of `item` (the score of each system) with `rest` (the mean of its other scores), at a confidence level.
///
/// # Errors
/// Slices of different length, values that are not finite.
pub fn discrimination(
    item: &[f64],
    rest: &[f64],
    level: Level,
    how: &Resampling,
) -> Result<Result<Discrimination, NoDiscrimination>, InputError> {
    finite_pairs(("item", item), ("rest", rest))?;
    if item.len() < DISCRIMINATION_FROM {
        return Ok(Err(NoDiscrimination::FewSystems));
    }
    if item.len() - most_frequent(item) < DIFFERING_FROM {
        return Ok(Err(NoDiscrimination::SameScores));
    }
    let Some(whole) = pearson(item, rest, level)? else { return Ok(Err(NoDiscrimination::SameRest)) };
    let drawn = bootstrap_indices(item.len(), |indices| correlation(item, rest, indices), how);
    let interval = drawn.and_then(|drawn| drawn.percentile(level));
    Ok(match (interval, whole.correlation.p_value) {
        (Some(interval), Some(p_value)) => Ok(Discrimination { value: whole.correlation.value, interval, p_value }),
        _ => Err(NoDiscrimination::SameScores),
    })
}

/// Pearson's correlation of the values at these indices, without a copy of them: a set has thousands of items, and each of
/// them a thousand resamples. `None` if one side is constant.
fn correlation(item: &[f64], rest: &[f64], indices: &[usize]) -> Option<f64> {
    let pairs = || indices.iter().filter_map(|at| Some((*item.get(*at)?, *rest.get(*at)?)));
    let n = indices.len() as f64;
    let (sum_x, sum_y) = pairs().fold((0.0, 0.0), |(x, y), (a, b)| (x + a, y + b));
    let (mean_x, mean_y) = (sum_x / n, sum_y / n);
    let (first_x, first_y) = pairs().next()?;
    let (mut is_constant_x, mut is_constant_y) = (true, true);
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (x, y) in pairs() {
        is_constant_x &= x.total_cmp(&first_x).is_eq();
        is_constant_y &= y.total_cmp(&first_y).is_eq();
        let (dx, dy) = (x - mean_x, y - mean_y);
        (xx, yy, xy) = (xx + dx * dx, yy + dy * dy, xy + dx * dy);
    }
    let r = xy / (xx * yy).sqrt();
    (!is_constant_x && !is_constant_y && r.is_finite()).then(|| r.clamp(-1.0, 1.0))
}

/// The number of the most frequent value.
fn most_frequent(values: &[f64]) -> usize {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let runs = sorted.chunk_by(|a, b| a.total_cmp(b).is_eq());
    runs.map(<[f64]>::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rand_chacha::rand_core::Rng;

    use super::*;
    use crate::numeric::seed::Seed;

    fn how() -> Resampling {
        Resampling { resamples: 300, ..Resampling::new(Seed(3)) }
    }

    /// BC-08: better systems solve a good item; the value is Pearson's, computed by hand.
    #[test]
    fn an_item_that_better_systems_solve_discriminates() {
        let rest = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
        let item = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0];
        let found = discrimination(&item, &rest, Level::P99, &how()).unwrap().unwrap();
        // Σ(x−x̄)(y−ȳ) = 0.8, Σ(x−x̄)² = 2, Σ(y−ȳ)² = 0.42
        assert!((found.value - 0.8 / (2.0_f64 * 0.42).sqrt()).abs() < 1e-12, "{found:?}");
        assert!(found.interval.lo > 0.0 && !found.is_negative());
        let reversed: Vec<f64> = item.iter().map(|it| 1.0 - it).collect();
        let found = discrimination(&reversed, &rest, Level::P99, &how()).unwrap().unwrap();
        assert!(found.is_negative(), "{found:?}");
    }

    /// BC-08: discrimination needs eight systems, of which two differ.
    #[test]
    fn few_systems_say_nothing() {
        let of = |item: &[f64]| {
            let rest: Vec<f64> = (0..item.len()).map(|at| at as f64).collect();
            discrimination(item, &rest, Level::P99, &how()).unwrap().map(|found| found.value)
        };
        assert_eq!(of(&[0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0]), Err(NoDiscrimination::FewSystems));
        assert_eq!(of(&[]), Err(NoDiscrimination::FewSystems));
        assert_eq!(of(&[1.0; 8]), Err(NoDiscrimination::SameScores));
        assert_eq!(of(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]), Err(NoDiscrimination::SameScores));
        let item = [0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0];
        let same = discrimination(&item, &[0.5; 8], Level::P99, &how()).unwrap();
        assert_eq!(same, Err(NoDiscrimination::SameRest));
        assert!(discrimination(&item, &[0.5; 7], Level::P99, &how()).is_err());
    }

    /// BC-08: the resampled correlation is Pearson's.
    #[test]
    fn the_resampled_correlation_is_pearsons() {
        let (item, rest) = ([0.0, 1.0, 0.3, 1.0, 0.0, 0.7], [0.2, 0.9, 0.4, 0.8, 0.3, 0.1]);
        for indices in [vec![0, 1, 2, 3, 4, 5], vec![0, 0, 1, 3, 5, 5], vec![2, 2, 2, 4, 4, 1]] {
            let pick = |values: &[f64]| indices.iter().map(|at| values[*at]).collect::<Vec<f64>>();
            let whole = pearson(&pick(&item), &pick(&rest), Level::P95).unwrap().unwrap().correlation.value;
            assert!((correlation(&item, &rest, &indices).unwrap() - whole).abs() < 1e-12);
        }
        assert_eq!(correlation(&item, &rest, &[3, 3, 1]), None);
        assert_eq!(correlation(&item, &rest, &[]), None);
    }

    /// BC-08: scores without any order are rarely negative, however few the systems.
    #[test]
    fn noise_is_rarely_negative() {
        for systems in [8, 12, 20] {
            let mut random = Seed(systems as u64).stream(1);
            let mut uniform = || f64::from(random.next_u32()) / 4_294_967_296.0;
            let items = 200;
            let negative = (0..items).filter(|_| {
                let rest: Vec<f64> = (0..systems).map(|_| uniform()).collect();
                let item: Vec<f64> = (0..systems).map(|_| f64::from(u8::from(uniform() < 0.5))).collect();
                let found = discrimination(&item, &rest, Level::P99, &how()).unwrap();
                found.is_ok_and(|found| found.is_negative())
            });
            let share = negative.count() as f64 / f64::from(items);
            assert!(share <= 0.035, "{systems} systems: {share}");
        }
    }
}
