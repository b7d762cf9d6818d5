//! Repeated trials per question: how much of the noise is the questions, how much the model.

use super::{mean, standard_error};
use crate::numeric::sum::sum_of;

/// One-way random effects over questions with any number of trials each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VarianceComponents {
    /// Questions with at least one trial.
    pub n_questions: usize,
    /// Trials in all.
    pub n_trials: usize,
    /// The mean of the question means: the estimate to quote.
    pub mean: Option<f64>,
    /// The mean of all trials.
    pub pooled_mean: Option<f64>,
    /// sd(question means)/√Q: the standard error to quote, correct with any number of trials.
    pub standard_error: Option<f64>,
    /// The components; `None` unless there are two questions and one of them has two trials.
    pub anova: Option<Anova>,
}

/// The analysis of variance behind the components.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Anova {
    groups: f64,
    /// Mean square between questions (about the pooled mean).
    pub between: f64,
    /// Mean square within questions: the variance σ²_w of one trial.
    pub within: f64,
    /// Effective trials per question, n0 = (N − Σk_i²/N)/(Q − 1).
    pub n0: f64,
}

impl Anova {
    /// `None` unless there are two groups and one of them has two values.
    pub(super) fn of(groups: &[Vec<f64>], values: &[f64]) -> Option<Self> {
        let (n, g) = (values.len() as f64, groups.len() as f64);
        if groups.len() < 2 || values.len() <= groups.len() {
            return None;
        }
        let centre = mean(values)?;
        let means: Vec<f64> = groups.iter().map(|group| mean(group)).collect::<Option<_>>()?;
        let between = sum_of(groups.iter().zip(&means).map(|(group, m)| group.len() as f64 * (m - centre).powi(2)));
        let within =
            sum_of(groups.iter().zip(&means).flat_map(|(group, m)| group.iter().map(move |x| (x - m).powi(2))));
        let sizes = sum_of(groups.iter().map(|group| (group.len() as f64).powi(2)));
        let anova =
            Self { groups: g, between: between / (g - 1.0), within: within / (n - g), n0: (n - sizes / n) / (g - 1.0) };
        (anova.between.is_finite() && anova.within.is_finite()).then_some(anova)
    }

    /// σ²_b = (MSB − MSW)/n0 as estimated, which can be negative.
    pub fn raw_question_variance(&self) -> f64 {
        (self.between - self.within) / self.n0
    }

    /// σ²_b, truncated at 0.
    pub fn question_variance(&self) -> f64 {
        self.raw_question_variance().max(0.0)
    }

    /// (MSB − MSW)/(MSB + (n0 − 1)·MSW); `None` when nothing varies.
    pub fn icc(&self) -> Option<f64> {
        let total = self.between + (self.n0 - 1.0) * self.within;
        (total > 0.0).then(|| (self.between - self.within) / total)
    }

    /// The standard error to expect from `trials` per question and the same questions:
    /// √((σ²_b + σ²_w/K)/Q). Tells whether to buy more trials or more questions (Miller 2024 §3.1).
    pub fn projected_standard_error(&self, trials: usize) -> Option<f64> {
        (trials > 0).then(|| ((self.question_variance() + self.within / trials as f64) / self.groups).sqrt())
    }
}

/// Decomposes the variance of `trials[question][trial]`. Questions without a trial are left out.
pub fn variance_components(trials: &[Vec<f64>]) -> VarianceComponents {
    let groups: Vec<Vec<f64>> = trials.iter().filter(|t| !t.is_empty()).cloned().collect();
    let values: Vec<f64> = groups.iter().flatten().copied().collect();
    let means: Vec<f64> = groups.iter().filter_map(|group| mean(group)).collect();
    VarianceComponents {
        n_questions: groups.len(),
        n_trials: values.len(),
        mean: mean(&means),
        pooled_mean: mean(&values),
        standard_error: standard_error(&means),
        anova: Anova::of(&groups, &values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_trial_per_question_leaves_the_components_unidentified() {
        let c = variance_components(&[vec![0.1], vec![0.4], vec![]]);
        assert_eq!((c.n_questions, c.anova), (2, None));
        assert!(c.standard_error.is_some());
    }

    proptest! {
        #[test]
        fn more_trials_never_widen_the_projection(
            trials in prop::collection::vec(prop::collection::vec(0.0..1.0_f64, 2..5), 2..10),
        ) {
            let anova = variance_components(&trials).anova.unwrap();
            let widths: Vec<f64> = (1..6).map(|k| anova.projected_standard_error(k).unwrap()).collect();
            prop_assert!(widths.windows(2).all(|w| w[1] <= w[0] + 1e-12));
        }
    }
}
