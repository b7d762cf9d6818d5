//! Intraclass correlations from a two-way table of items and raters.

use crate::interval::{Interval, Level, Method};
use crate::numeric::input::{InputError, finite};
use crate::numeric::special::FisherF;

/// The six intraclass correlations; each is `None` where its denominator is 0.
///
/// In McGraw & Wong's names: `single_absolute` is ICC(A,1), `single_consistency` is ICC(C,1).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct IccCoefficients {
    /// ICC(1): each item rated by other raters, one rating.
    pub single_oneway: Option<f64>,
    /// ICC(1,k): the same for the mean of k ratings.
    pub average_oneway: Option<f64>,
    /// ICC(2,1): absolute agreement of one rating; the default for numeric scores.
    pub single_absolute: Option<f64>,
    /// ICC(2,k): absolute agreement of the panel's mean.
    pub average_absolute: Option<f64>,
    /// ICC(3,1): consistency; 1 for judge = human + 1, so no measure of validity.
    pub single_consistency: Option<f64>,
    /// ICC(3,k): consistency of the panel's mean.
    pub average_consistency: Option<f64>,
}

/// Intraclass correlations with their analysis of variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Icc {
    /// The coefficients.
    pub coefficients: IccCoefficients,
    /// Mean square between items, MSR.
    pub mean_square_rows: f64,
    /// Mean square between raters, MSC.
    pub mean_square_columns: f64,
    /// Residual mean square, MSE; 0 when the residuals are rounding noise.
    pub mean_square_error: f64,
    /// F = MSR/MSE of items against error; `None` when MSE is 0.
    pub f: Option<f64>,
    /// P(F' ≥ F) under no difference between items.
    pub p_value: Option<f64>,
    /// Interval of ICC(2,1).
    pub single_absolute_interval: Option<Interval>,
    /// Interval of ICC(2,k).
    pub average_absolute_interval: Option<Interval>,
    /// Interval of ICC(3,1).
    pub single_consistency_interval: Option<Interval>,
}

/// Residuals below this share of the largest rating are rounding noise.
const NOISE: f64 = 1e-13;

/// Intraclass correlations of complete ratings, one row of k ratings per item (Shrout & Fleiss 1979,
/// McGraw & Wong 1996), with intervals at the confidence `level`.
///
/// `None` for fewer than two items or two raters. Items with a missing rating are dropped first.
///
/// # Errors
/// Rows of different length, values that are not finite.
pub fn icc(rows: &[impl AsRef<[f64]>], level: Level) -> Result<Option<Icc>, InputError> {
    let k = rows.first().map_or(0, |row| row.as_ref().len());
    for (row, values) in rows.iter().map(AsRef::as_ref).enumerate() {
        finite("ratings", values)?;
        if values.len() != k {
            return Err(InputError::Ragged {
                name: "number of ratings",
                row,
                found: values.len() as u64,
                expected: k as u64,
            });
        }
    }
    if rows.len() < 2 || k < 2 {
        return Ok(None);
    }
    let rows: Vec<&[f64]> = rows.iter().map(AsRef::as_ref).collect();
    Ok(Some(Anova::new(&rows).icc(level)))
}

/// Two-way analysis of variance without replication.
struct Anova {
    n: f64,
    k: f64,
    rows: f64,
    columns: f64,
    error: f64,
}

impl Anova {
    fn new(rows: &[&[f64]]) -> Self {
        let (n, k) = (rows.len() as f64, rows[0].len() as f64);
        let row_means: Vec<f64> = rows.iter().map(|row| row.iter().sum::<f64>() / k).collect();
        let column_means: Vec<f64> =
            (0..rows[0].len()).map(|j| rows.iter().map(|row| row[j]).sum::<f64>() / n).collect();
        let grand = row_means.iter().sum::<f64>() / n;
        let largest = rows.iter().flat_map(|row| row.iter()).fold(0.0, |m: f64, v| m.max(v.abs()));
        let squares = |deviations: &mut dyn Iterator<Item = f64>| -> f64 {
            deviations.map(|d| if d.abs() > NOISE * largest { d * d } else { 0.0 }).sum()
        };
        let between = |means: &[f64]| squares(&mut means.iter().map(|mean| mean - grand));
        let residual = squares(&mut rows.iter().zip(&row_means).flat_map(|(row, row_mean)| {
            row.iter().zip(&column_means).map(move |(value, column_mean)| value - row_mean - column_mean + grand)
        }));
        Self {
            n,
            k,
            rows: k * between(&row_means) / (n - 1.0),
            columns: n * between(&column_means) / (k - 1.0),
            error: residual / ((n - 1.0) * (k - 1.0)),
        }
    }

    fn icc(&self, level: Level) -> Icc {
        let Self { n, k, rows, columns, error } = *self;
        let f = ratio(rows, error);
        let single_absolute_interval = f.and_then(|_| self.absolute_interval(level));
        let p_value = f.and_then(|f| Some(FisherF::new(n - 1.0, (n - 1.0) * (k - 1.0))?.sf(f)));
        Icc {
            coefficients: self.coefficients(),
            mean_square_rows: rows,
            mean_square_columns: columns,
            mean_square_error: error,
            f,
            p_value,
            single_absolute_interval,
            average_absolute_interval: single_absolute_interval.map(|interval| {
                let of_mean = |icc: f64| icc * k / (1.0 + icc * (k - 1.0));
                f_interval(of_mean(interval.lo), of_mean(interval.hi), level)
            }),
            single_consistency_interval: f.and_then(|f| self.consistency_interval(f, level)),
        }
    }

    fn coefficients(&self) -> IccCoefficients {
        let Self { n, k, rows, columns, error } = *self;
        let within = self.within();
        IccCoefficients {
            single_oneway: ratio(rows - within, rows + (k - 1.0) * within),
            average_oneway: ratio(rows - within, rows),
            single_absolute: ratio(rows - error, rows + (k - 1.0) * error + k * (columns - error) / n),
            average_absolute: ratio(rows - error, rows + (columns - error) / n),
            single_consistency: ratio(rows - error, rows + (k - 1.0) * error),
            average_consistency: ratio(rows - error, rows),
        }
    }

    /// Mean square within items: the raters' and the residual sums of squares over n(k−1).
    fn within(&self) -> f64 {
        (self.columns + (self.n - 1.0) * self.error) / self.n
    }

    /// McGraw & Wong 1996, table 7, case 2: Satterthwaite degrees of freedom for the error term.
    fn absolute_interval(&self, level: Level) -> Option<Interval> {
        let Self { n, k, rows, columns, error } = *self;
        let icc = ratio(rows - error, rows + (k - 1.0) * error + k * (columns - error) / n)?;
        let p = 1.0 - 0.5 * level.alpha();
        let raters = k * icc * columns / error;
        let items = n * (1.0 + (k - 1.0) * icc) - k * icc;
        let df = (k - 1.0) * (n - 1.0) * (raters + items).powi(2) / ((n - 1.0) * raters * raters + items * items);
        let upper_f = FisherF::new(n - 1.0, df)?.quantile(p);
        let lower_f = FisherF::new(df, n - 1.0)?.quantile(p);
        let noise = k * columns + (k * n - k - n) * error;
        let lower = ratio(n * (rows - upper_f * error), upper_f * noise + n * rows)?;
        let upper = ratio(n * (lower_f * rows - error), noise + n * lower_f * rows)?;
        Some(f_interval(lower, upper, level))
    }

    fn consistency_interval(&self, f: f64, level: Level) -> Option<Interval> {
        let (items, residual) = (self.n - 1.0, (self.n - 1.0) * (self.k - 1.0));
        let p = 1.0 - 0.5 * level.alpha();
        let low = f / FisherF::new(items, residual)?.quantile(p);
        let high = f * FisherF::new(residual, items)?.quantile(p);
        let icc = |f: f64| (f - 1.0) / (f + self.k - 1.0);
        Some(f_interval(icc(low), icc(high), level))
    }
}

fn f_interval(lo: f64, hi: f64, level: Level) -> Interval {
    Interval { lo, hi, level, method: Method::FisherF }
}

/// `None` where the denominator is 0 or the quotient is not finite.
fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    let quotient = numerator / denominator;
    (denominator.abs() > 0.0 && quotient.is_finite()).then_some(quotient)
}
