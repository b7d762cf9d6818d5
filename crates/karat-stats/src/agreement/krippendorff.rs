//! Krippendorff's alpha.

use super::{Ratings, codebook::Codebook};
use crate::numeric::input::{InputError, in_domain};

/// The level of measurement, which sets the squared difference δ² of two ratings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measurement {
    /// Labels: 0 when equal, else 1.
    Nominal,
    /// Ranks: δ is the number of pairable ratings between the two values, each end counted half.
    Ordinal,
    /// Differences: (a − b)².
    Interval,
    /// Proportions of non-negative values: ((a − b)/(a + b))².
    Ratio,
}

/// Krippendorff's alpha: α = 1 − D_o/D_e over the coincidences of pairable ratings (Krippendorff 2011).
///
/// Takes any number of raters with gaps; units with fewer than two ratings are ignored. `None` when
/// no unit has two ratings or all pairable ratings are the same (no variation is not agreement 1).
/// Time O(ratings) plus, for [`Measurement::Ratio`], the square of the number of distinct values.
///
/// # Errors
/// [`InputError::OutOfDomain`] for a negative rating at [`Measurement::Ratio`].
pub fn krippendorff_alpha(ratings: &Ratings, measurement: Measurement) -> Result<Option<f64>, InputError> {
    check_values(ratings.units().flatten(), measurement)?;
    Ok(alpha(ratings.units(), measurement))
}

fn check_values<'a>(mut ratings: impl Iterator<Item = &'a f64>, measurement: Measurement) -> Result<(), InputError> {
    if measurement != Measurement::Ratio {
        return Ok(());
    }
    let negative = ratings.find(|value| **value < 0.0);
    negative.map_or(Ok(()), |&value| in_domain("a rating on a ratio scale", value, "0 or more", false))
}

fn alpha(units: impl Iterator<Item: AsRef<[f64]>> + Clone, measurement: Measurement) -> Option<f64> {
    let pairable = units.filter(|unit| unit.as_ref().len() > 1);
    let (observed, expected) = match measurement {
        // Differences of the ratings themselves need no list of distinct values.
        Measurement::Interval => interval_differences(pairable)?,
        _ => coded_differences(pairable, measurement)?,
    };
    let alpha = 1.0 - observed / expected;
    alpha.is_finite().then_some(alpha)
}

/// n·D_o and n·D_e of interval data: D_e is twice the sample variance.
fn interval_differences(pairable: impl Iterator<Item: AsRef<[f64]>> + Clone) -> Option<(f64, f64)> {
    let (mut n, mut sum) = (0.0, 0.0);
    let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
    for unit in pairable.clone() {
        for &rating in unit.as_ref() {
            n += 1.0;
            sum += rating;
            min = rating.min(min);
            max = rating.max(max);
        }
    }
    // Also when there are no ratings.
    if min >= max {
        return None;
    }
    let mean = sum / n;
    let (mut observed, mut spread) = (0.0, 0.0);
    for unit in pairable {
        let unit = unit.as_ref();
        observed += scaled_pairs(unit, |a, b| (a - b) * (a - b));
        spread += unit.iter().map(|rating| (rating - mean) * (rating - mean)).sum::<f64>();
    }
    Some((observed, 2.0 * n * spread / (n - 1.0)))
}

/// n·D_o and n·D_e by the distinct values and how often each occurs.
fn coded_differences(
    pairable: impl Iterator<Item: AsRef<[f64]>> + Clone,
    measurement: Measurement,
) -> Option<(f64, f64)> {
    let coded = Coded::new(pairable.clone());
    if coded.domain.len() < 2 {
        return None;
    }
    let positions = coded.positions(measurement);
    let difference = |a: u32, b: u32| measurement.squared_difference(positions[a as usize], positions[b as usize]);
    let mut observed = 0.0;
    let mut rest = coded.codes.as_slice();
    for unit in pairable {
        let (codes, tail) = rest.split_at(unit.as_ref().len());
        rest = tail;
        observed += scaled_pairs(codes, difference);
    }
    let expected = measurement.expected_differences(&positions, &coded.counts);
    Some((observed, expected / (coded.codes.len() - 1) as f64))
}

/// Σ over the ordered pairs of a unit, over its ratings less one.
fn scaled_pairs<T: Copy>(unit: &[T], difference: impl Fn(T, T) -> f64) -> f64 {
    let mut sum = 0.0;
    for (i, &a) in unit.iter().enumerate() {
        for &b in &unit[i + 1..] {
            sum += difference(a, b);
        }
    }
    2.0 * sum / (unit.len() - 1) as f64
}

impl Measurement {
    fn squared_difference(self, a: f64, b: f64) -> f64 {
        let d = a - b;
        match self {
            Self::Nominal => f64::from(u8::from(d.abs() > 0.0)),
            Self::Ordinal | Self::Interval => d * d,
            Self::Ratio if a + b > 0.0 => (d / (a + b)).powi(2),
            Self::Ratio => 0.0,
        }
    }

    /// Σ_c Σ_k n_c n_k δ²(c, k), in closed form where there is one.
    fn expected_differences(self, positions: &[f64], counts: &[u64]) -> f64 {
        let counts: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
        let n: f64 = counts.iter().sum();
        let weighted = || positions.iter().zip(&counts);
        match self {
            Self::Nominal => n * n - counts.iter().map(|count| count * count).sum::<f64>(),
            Self::Ordinal | Self::Interval => {
                let mean = weighted().map(|(x, count)| x * count).sum::<f64>() / n;
                2.0 * n * weighted().map(|(x, count)| count * (x - mean).powi(2)).sum::<f64>()
            }
            Self::Ratio => weighted()
                .map(|(a, count)| {
                    count * weighted().map(|(b, other)| other * self.squared_difference(*a, *b)).sum::<f64>()
                })
                .sum(),
        }
    }
}

/// Ratings as indices into the list of distinct values.
struct Coded {
    codes: Vec<u32>,
    domain: Vec<f64>,
    counts: Vec<u64>,
}

impl Coded {
    fn new(units: impl Iterator<Item: AsRef<[f64]>> + Clone) -> Self {
        let ratings = units.clone().map(|unit| unit.as_ref().len()).sum();
        let mut codebook = Codebook::default();
        let mut codes = Vec::with_capacity(ratings);
        for unit in units {
            // Adding zero makes −0 and 0 the same bits.
            codes.extend(unit.as_ref().iter().map(|value| codebook.code(value + 0.0)));
        }
        let mut counts = vec![0; codebook.domain.len()];
        for &code in &codes {
            counts[code as usize] += 1;
        }
        Self { codes, domain: codebook.domain, counts }
    }

    /// The position of each distinct value on the axis on which `measurement` takes differences.
    fn positions(&self, measurement: Measurement) -> Vec<f64> {
        match measurement {
            Measurement::Nominal => (0..self.domain.len()).map(|code| code as f64).collect(),
            Measurement::Interval | Measurement::Ratio => self.domain.clone(),
            Measurement::Ordinal => self.mid_ranks(),
        }
    }

    /// Ratings below plus half of those equal: Σ_{g=c..k} n_g − (n_c + n_k)/2 is a difference of these.
    fn mid_ranks(&self) -> Vec<f64> {
        let mut order: Vec<usize> = (0..self.domain.len()).collect();
        order.sort_by(|&a, &b| self.domain[a].total_cmp(&self.domain[b]));
        let mut ranks = vec![0.0; order.len()];
        let mut below = 0.0;
        for code in order {
            let count = self.counts[code] as f64;
            ranks[code] = below + 0.5 * count;
            below += count;
        }
        ranks
    }
}
