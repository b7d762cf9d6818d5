//! Recalibrating a judge's scores to the human scale, with errors measured out of fold.

use super::{Direction, Isotonic};
use crate::describe::{is_constant, mean};
use crate::numeric::input::{InputError, finite_pairs, same_length};
use crate::numeric::sum::sum_of;

/// y = intercept + slope·x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Slope; 0 for a constant judge.
    pub slope: f64,
    /// Intercept; the mean human score for a constant judge.
    pub intercept: f64,
}

impl Line {
    /// Least squares of `human` on `judge`; `None` without items or for slices of different length.
    pub fn fit(judge: &[f64], human: &[f64]) -> Option<Self> {
        let (judge_mean, human_mean) = (mean(judge)?, mean(human)?);
        if is_constant(judge) {
            return Some(Self { slope: 0.0, intercept: human_mean });
        }
        let spread = sum_of(judge.iter().map(|x| (x - judge_mean).powi(2)));
        let pairs = judge.iter().zip(human);
        let slope = sum_of(pairs.map(|(x, y)| (x - judge_mean) * (y - human_mean))) / spread;
        (judge.len() == human.len() && slope.is_finite())
            .then_some(Self { slope, intercept: human_mean - slope * judge_mean })
    }

    /// The value at `x`.
    pub fn predict(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}

/// The distance of scores from human scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreError {
    /// Mean of score − human.
    pub bias: f64,
    /// Mean absolute error.
    pub mean_absolute_error: f64,
    /// Root mean square error.
    pub root_mean_square_error: f64,
}

impl ScoreError {
    fn of(scores: &[f64], human: &[f64]) -> Option<Self> {
        let errors: Vec<f64> = scores.iter().zip(human).map(|(score, human)| score - human).collect();
        let n = errors.len() as f64;
        Some(Self {
            bias: mean(&errors)?,
            mean_absolute_error: sum_of(errors.iter().map(|e| e.abs())) / n,
            root_mean_square_error: (sum_of(errors.iter().map(|e| e * e)) / n).sqrt(),
        })
    }
}

/// A judge's scores before and after recalibration.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalibration {
    /// The line fitted to all items: for scoring new ones.
    pub line: Line,
    /// The monotone function fitted to all items: for scoring new ones.
    pub isotonic: Isotonic,
    /// Error of the judge as it is.
    pub raw: ScoreError,
    /// Each item predicted by the line fitted to the other folds.
    pub linear_out_of_fold: Vec<f64>,
    /// Error of those predictions.
    pub linear_error: ScoreError,
    /// Each item predicted by the monotone function fitted to the other folds.
    pub isotonic_out_of_fold: Vec<f64>,
    /// Error of those predictions.
    pub isotonic_error: ScoreError,
}

/// Recalibrates `judge` to `human`: linearly (from about 20 labels) and monotonically (from about
/// 100), with `fold[i]` the fold of item i.
///
/// For showing single items; use [`ppi_mean`](super::ppi_mean) for means. `None` without items or
/// with a single fold, which leaves nothing to fit to.
///
/// # Errors
/// Slices of different length, or values that are not finite.
pub fn recalibrate(judge: &[f64], human: &[f64], fold: &[usize]) -> Result<Option<Recalibration>, InputError> {
    finite_pairs(("judge", judge), ("human", human))?;
    same_length("judge", judge.len(), "fold", fold.len())?;
    let items = Items { judge, human, fold };
    let line = Line::fit(judge, human);
    let isotonic = Isotonic::fit(judge, human, None, Direction::Increasing)?;
    let (Some(line), Some(isotonic), Some(raw)) = (line, isotonic, ScoreError::of(judge, human)) else {
        return Ok(None);
    };
    let linear = items.out_of_fold(|judge, human| Ok(Line::fit(judge, human).map(|line| move |x| line.predict(x))))?;
    let monotone = items.out_of_fold(|judge, human| {
        let fit = Isotonic::fit(judge, human, None, Direction::Increasing)?;
        Ok(fit.map(|fit| move |x| fit.predict(x)))
    })?;
    let (Some(linear_out_of_fold), Some(isotonic_out_of_fold)) = (linear, monotone) else {
        return Ok(None);
    };
    let errors = ScoreError::of(&linear_out_of_fold, human).zip(ScoreError::of(&isotonic_out_of_fold, human));
    Ok(errors.map(|(linear_error, isotonic_error)| Recalibration {
        line,
        isotonic,
        raw,
        linear_out_of_fold,
        linear_error,
        isotonic_out_of_fold,
        isotonic_error,
    }))
}

struct Items<'a> {
    judge: &'a [f64],
    human: &'a [f64],
    fold: &'a [usize],
}

impl Items<'_> {
    /// Predicts each item by the model that `fit` makes of the items outside its fold.
    fn out_of_fold<Model: Fn(f64) -> f64>(
        &self,
        fit: impl Fn(&[f64], &[f64]) -> Result<Option<Model>, InputError>,
    ) -> Result<Option<Vec<f64>>, InputError> {
        let mut folds = self.fold.to_vec();
        folds.sort_unstable();
        folds.dedup();
        let mut predictions = vec![0.0; self.fold.len()];
        for fold in folds {
            let training = |values: &[f64]| -> Vec<f64> {
                let others = values.iter().zip(self.fold).filter(|(_, other)| **other != fold);
                others.map(|(value, _)| *value).collect()
            };
            let Some(model) = fit(&training(self.judge), &training(self.human))? else {
                return Ok(None);
            };
            for (i, prediction) in predictions.iter_mut().enumerate() {
                if self.fold[i] == fold {
                    *prediction = model(self.judge[i]);
                }
            }
        }
        Ok(Some(predictions))
    }
}
