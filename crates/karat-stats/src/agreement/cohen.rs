//! Cohen's kappa, weighted and unweighted, with its large-sample standard error.

use super::Weighting;
use crate::interval::{Interval, Level, Method};
use crate::numeric::input::{InputError, same_length};

/// Counts of the pairs in which rater A chose `i` and rater B chose `j`, over one declared list of labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contingency {
    counts: Vec<u64>,
    categories: usize,
}

impl Contingency {
    /// Counts pairs of category indices, one pair per item that both raters rated.
    ///
    /// # Errors
    /// Slices of different length, or an index that is not below `categories`.
    pub fn from_indices(a: &[usize], b: &[usize], categories: usize) -> Result<Self, InputError> {
        same_length("rater A", a.len(), "rater B", b.len())?;
        let mut counts = vec![0; categories * categories];
        for (&i, &j) in a.iter().zip(b) {
            let worst = i.max(j);
            if worst >= categories {
                return Err(InputError::OutOfBounds { name: "category index", index: worst, len: categories });
            }
            counts[i * categories + j] += 1;
        }
        Ok(Self { counts, categories })
    }

    /// Number of items, n.
    pub fn n(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Share of items on which both raters said the same; `None` without items.
    pub fn percent_agreement(&self) -> Option<f64> {
        let same: u64 = (0..self.categories).map(|i| self.at(i, i)).sum();
        let n = self.n();
        (n > 0).then(|| same as f64 / n as f64)
    }

    fn at(&self, i: usize, j: usize) -> u64 {
        self.counts[i * self.categories + j]
    }

    /// The cells (i, j, count).
    fn cells(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        let q = self.categories;
        let counts = self.counts.iter().enumerate();
        counts.map(move |(cell, &count)| (cell / q, cell % q, count as f64))
    }

    /// Number of ratings of each category by A (rows) and by B (columns).
    fn margins(&self) -> (Vec<f64>, Vec<f64>) {
        let mut rows = vec![0.0; self.categories];
        let mut columns = rows.clone();
        for (i, j, count) in self.cells() {
            rows[i] += count;
            columns[j] += count;
        }
        (rows, columns)
    }
}

/// Cohen's kappa with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kappa {
    /// κ in \[−1, 1\].
    pub kappa: f64,
    /// Large-sample standard error; `None` when a rater used one category only.
    pub standard_error: Option<f64>,
}

impl Kappa {
    /// κ ± z·SE, clipped to \[−1, 1\]. For n ≥ 50; below, bootstrap items.
    pub fn interval(&self, level: Level) -> Option<Interval> {
        let half_width = level.z() * self.standard_error?;
        Some(Interval::around(self.kappa, half_width, level, Method::Normal).clip(-1.0, 1.0))
    }
}

/// Cohen's kappa: κ = 1 − Σ v O / Σ v E, v the disagreement weights, O and E the observed and the
/// chance counts (Cohen 1960, 1968).
///
/// `None` without items and when both raters used one and the same category (chance agreement 1).
/// 0 when only one rater is constant. The standard error is that of Fleiss, Cohen & Everitt 1969
/// for a random sample of items.
///
/// ```
/// use karat_stats::agreement::{Contingency, Weighting, cohen_kappa};
///
/// // Two reviewers of 50 proposals: 20 times both said yes, 15 times both no.
/// let pairs = [(0, 0, 20), (0, 1, 5), (1, 0, 10), (1, 1, 15)];
/// let (mut first, mut second) = (Vec::new(), Vec::new());
/// for (a, b, count) in pairs {
///     first.extend(std::iter::repeat_n(a, count));
///     second.extend(std::iter::repeat_n(b, count));
/// }
/// let table = Contingency::from_indices(&first, &second, 2)?;
/// let found = cohen_kappa(&table, Weighting::Identity);
/// assert!(found.is_some_and(|found| (found.kappa - 0.4).abs() < 1e-12));
/// # Ok::<(), karat_stats::numeric::input::InputError>(())
/// ```
pub fn cohen_kappa(table: &Contingency, weighting: Weighting) -> Option<Kappa> {
    let q = table.categories;
    let n = table.n() as f64;
    let (rows, columns) = table.margins();
    let mut observed = 0.0;
    let mut expected = 0.0;
    for (i, j, count) in table.cells() {
        let v = weighting.disagreement(i, j, q);
        observed += v * count;
        expected += v * rows[i] * columns[j] / n.max(1.0);
    }
    if expected <= 0.0 {
        return None;
    }
    let kappa = 1.0 - observed / expected;
    let constant = |margin: &[f64]| margin.iter().filter(|&&count| count > 0.0).count() < 2;
    let degenerate = constant(&rows) || constant(&columns);
    let standard_error =
        (!degenerate).then(|| standard_error(table, weighting, kappa, expected / n, (&rows, &columns)));
    Some(Kappa { kappa, standard_error })
}

/// √( (Σ p_ij [w_ij − (w̄_i· + w̄_·j)(1−κ)]² − [κ − p_e(1−κ)]²) / (n (1−p_e)²) ), w the agreement weights.
fn standard_error(
    table: &Contingency,
    weighting: Weighting,
    kappa: f64,
    chance_disagreement: f64,
    (rows, columns): (&[f64], &[f64]),
) -> f64 {
    let q = table.categories;
    let n = table.n() as f64;
    let mean_weight =
        |i: usize, other: &[f64]| -> f64 { (0..q).map(|j| weighting.agreement(i, j, q) * other[j]).sum::<f64>() / n };
    let of_row: Vec<f64> = (0..q).map(|i| mean_weight(i, columns)).collect();
    let of_column: Vec<f64> = (0..q).map(|j| mean_weight(j, rows)).collect();
    let term = |(i, j, count): (usize, usize, f64)| {
        let share = (of_row[i] + of_column[j]) * (1.0 - kappa);
        count / n * (weighting.agreement(i, j, q) - share).powi(2)
    };
    let spread: f64 = table.cells().map(term).sum();
    let centre = kappa - (1.0 - chance_disagreement) * (1.0 - kappa);
    // A difference of nearly equal numbers: what is left of it below this is rounding.
    let variance = match spread - centre * centre {
        left if left > 1e-14 * spread => left / n,
        _ => 0.0,
    };
    variance.sqrt() / chance_disagreement
}
