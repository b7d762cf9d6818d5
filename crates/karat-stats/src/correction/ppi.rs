//! Prediction-powered estimation of a mean: many judged items anchored by a few human labels.

use crate::describe::{is_constant, mean, population_variance, variance};
use crate::interval::{Interval, Level, Method};
use crate::numeric::input::{InputError, finite, finite_pairs};
use crate::numeric::sum::sum_of;

/// One estimate of the mean human score with two intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnchoredMean {
    /// The estimate, not clipped to the scale.
    pub estimate: f64,
    /// Standard error from variances over n (as in the `ppi_py` package).
    pub se_population: f64,
    /// Normal interval from `se_population`: too narrow below about 50 labels.
    pub z_interval: Interval,
    /// Standard error from variances over n − 1.
    pub standard_error: f64,
    /// Satterthwaite degrees of freedom; `None` when the standard error is 0.
    pub degrees_of_freedom: Option<f64>,
    /// Student interval from `standard_error`: the one to report.
    pub interval: Interval,
}

/// The mean human score by three estimators.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PpiMean {
    /// Power-tuning weight of the judge in `tuned`, in \[0, 1\].
    pub lambda: f64,
    /// Mean of the judge on the unlabelled items.
    pub judge_only_mean: f64,
    /// Mean of human − judge on the labelled items: what the judge is off by.
    pub rectifier: f64,
    /// Human labels only (λ = 0).
    pub classical: AnchoredMean,
    /// PPI (λ = 1).
    pub ppi: AnchoredMean,
    /// PPI++ (λ tuned): the default.
    pub tuned: AnchoredMean,
}

/// Prediction-powered mean: θ = λ·mean(F) + mean(y − λf), Var = λ²Var(F)/N + Var(y − λf)/n, with y
/// the human and f the judge scores of the n labelled items, F the judge scores of N other items
/// (Angelopoulos et al. 2023; tuning λ = cov(y,f)/((1 + n/N) Var f), clipped to \[0, 1\], 2023b).
///
/// The labelled items must be a random sample of the same population. `None` for fewer than two
/// labels or two unlabelled items. A constant judge gets λ = 0.
///
/// ```
/// use karat_stats::{correction::ppi_mean, interval::Level};
///
/// // The judge is half a point too kind on the five items that people labelled.
/// let human = [3.0, 4.0, 2.0, 5.0, 3.0];
/// let judge = [3.5, 4.5, 2.5, 5.5, 3.5];
/// let unlabelled = [4.5, 3.5, 4.0, 5.0, 4.5, 3.0];
/// let found = ppi_mean(&human, &judge, &unlabelled, Level::P95)?;
/// assert!(found.is_some_and(|found| (found.rectifier + 0.5).abs() < 1e-12));
/// # Ok::<(), karat_stats::numeric::input::InputError>(())
/// ```
///
/// # Errors
/// `human` and `judge_on_human` of different length, or values that are not finite.
pub fn ppi_mean(
    human: &[f64],
    judge_on_human: &[f64],
    judge_unlabelled: &[f64],
    level: Level,
) -> Result<Option<PpiMean>, InputError> {
    finite_pairs(("human", human), ("judge on the same items", judge_on_human))?;
    finite("judge on unlabelled items", judge_unlabelled)?;
    let data = Data { human, judge_on_human, judge_unlabelled, level };
    Ok(data.estimates())
}

struct Data<'a> {
    human: &'a [f64],
    judge_on_human: &'a [f64],
    judge_unlabelled: &'a [f64],
    level: Level,
}

impl Data<'_> {
    fn estimates(&self) -> Option<PpiMean> {
        let lambda = self.tuning()?;
        let differences: Vec<f64> = self.residuals(1.0);
        Some(PpiMean {
            lambda,
            judge_only_mean: mean(self.judge_unlabelled)?,
            rectifier: mean(&differences)?,
            classical: self.anchored_mean(0.0)?,
            ppi: self.anchored_mean(1.0)?,
            tuned: self.anchored_mean(lambda)?,
        })
    }

    /// The covariance is over n, the variance of the pooled judge scores over n + N − 1, as in `ppi_py`.
    fn tuning(&self) -> Option<f64> {
        let pooled = [self.judge_on_human, self.judge_unlabelled].concat();
        let (n, unlabelled) = (self.human.len() as f64, self.judge_unlabelled.len() as f64);
        let (human, judge) = (mean(self.human)?, mean(self.judge_on_human)?);
        let pairs = self.human.iter().zip(self.judge_on_human);
        let covariance = sum_of(pairs.map(|(y, f)| (y - human) * (f - judge))) / n;
        if is_constant(&pooled) {
            return Some(0.0);
        }
        let lambda = covariance / ((1.0 + n / unlabelled) * variance(&pooled)?);
        Some(lambda.clamp(0.0, 1.0))
    }

    fn residuals(&self, lambda: f64) -> Vec<f64> {
        let pairs = self.human.iter().zip(self.judge_on_human);
        pairs.map(|(y, f)| y - lambda * f).collect()
    }

    fn anchored_mean(&self, lambda: f64) -> Option<AnchoredMean> {
        let residuals = self.residuals(lambda);
        let (n, unlabelled) = (residuals.len() as f64, self.judge_unlabelled.len() as f64);
        let estimate = lambda * mean(self.judge_unlabelled)? + mean(&residuals)?;
        let se = |judge_variance: f64, residual_variance: f64| {
            let (a, b) = (lambda * lambda * judge_variance / unlabelled, residual_variance / n);
            (a, b, (a + b).sqrt())
        };
        let (_, _, se_population) = se(population_variance(self.judge_unlabelled)?, population_variance(&residuals)?);
        let (a, b, standard_error) = se(variance(self.judge_unlabelled)?, variance(&residuals)?);
        // Satterthwaite, in shares of the variance so that nothing under- or overflows.
        let degrees_of_freedom = (standard_error > 0.0).then(|| {
            let (a, b) = (a / (a + b), b / (a + b));
            1.0 / (a * a / (unlabelled - 1.0) + b * b / (n - 1.0))
        });
        let t = degrees_of_freedom.map_or(Some(0.0), |df| self.level.t(df))?;
        let around = |half_width: f64, method| {
            let method = if half_width > 0.0 { method } else { Method::Degenerate };
            Interval::around(estimate, half_width, self.level, method)
        };
        Some(AnchoredMean {
            estimate,
            se_population,
            z_interval: around(self.level.z() * se_population, Method::Normal),
            standard_error,
            degrees_of_freedom,
            interval: around(t * standard_error, Method::PredictionPowered),
        })
    }
}
