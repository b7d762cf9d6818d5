//! The number of human labels that a wanted precision needs.

use crate::interval::Level;
use crate::numeric::input::{InputError, in_domain};

/// The quantities known or guessed before labelling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabelPlan {
    /// Variance of the human scores.
    pub var_human: f64,
    /// Variance of the judge's scores.
    pub var_judge: f64,
    /// Correlation of the two, in \[−1, 1\].
    pub correlation: f64,
    /// Number of items that only the judge scores.
    pub n_unlabelled: u64,
    /// Wanted half-width of the interval, in score units.
    pub half_width: f64,
    /// Confidence level of the interval.
    pub level: Level,
}

/// The labels needed for the wanted half-width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LabelBudget {
    /// Labels with PPI++.
    pub labels_ppi_pp: u64,
    /// Weight of the judge at that number of labels.
    pub lambda: f64,
    /// Half-width at that number of labels.
    pub half_width: f64,
    /// Labels without a judge.
    pub labels_classical: u64,
    /// Half-width below which plain PPI (λ = 1) cannot go with these unlabelled items.
    pub half_width_judge_floor: f64,
}

/// Labels needed by PPI++ and by human labels alone.
///
/// Half-width z·√((v_y − 2λc + λ²v_f)/n + λ²v_f/N), c = ρ√(v_y v_f), λ = clip(c/((1 + n/N)v_f), 0, 1).
/// A planning figure with the normal quantile: add some labels when the answer is below 50.
///
/// # Errors
/// A variance that is negative, a correlation outside \[−1, 1\], a half-width that is not positive,
/// no unlabelled items.
pub fn label_budget(plan: &LabelPlan) -> Result<LabelBudget, InputError> {
    let variance = |name, value: f64| in_domain(name, value, "0 or more", value >= 0.0 && value.is_finite());
    variance("variance of human scores", plan.var_human)?;
    variance("variance of judge scores", plan.var_judge)?;
    let correlated = (-1.0..=1.0).contains(&plan.correlation);
    in_domain("correlation", plan.correlation, "between -1 and 1", correlated)?;
    in_domain("half-width", plan.half_width, "more than 0", plan.half_width > 0.0)?;
    let unlabelled = plan.n_unlabelled as f64;
    in_domain("number of unlabelled items", unlabelled, "1 or more", unlabelled >= 1.0)?;
    let labels_ppi_pp = plan.smallest(|n| plan.half_width_at(n, plan.lambda_at(n)));
    let lambda = plan.lambda_at(labels_ppi_pp);
    Ok(LabelBudget {
        labels_ppi_pp,
        lambda,
        half_width: plan.half_width_at(labels_ppi_pp, lambda),
        labels_classical: plan.smallest(|n| plan.half_width_at(n, 0.0)),
        half_width_judge_floor: plan.level.z() * (plan.var_judge / unlabelled).sqrt(),
    })
}

impl LabelPlan {
    fn covariance(&self) -> f64 {
        self.correlation * (self.var_human * self.var_judge).sqrt()
    }

    fn lambda_at(&self, labels: u64) -> f64 {
        if self.var_judge <= 0.0 {
            return 0.0;
        }
        let share = 1.0 + labels as f64 / self.n_unlabelled as f64;
        (self.covariance() / (share * self.var_judge)).clamp(0.0, 1.0)
    }

    fn half_width_at(&self, labels: u64, lambda: f64) -> f64 {
        let of_labels = self.var_human - 2.0 * lambda * self.covariance() + lambda * lambda * self.var_judge;
        let of_judge = lambda * lambda * self.var_judge / self.n_unlabelled as f64;
        self.level.z() * (of_labels.max(0.0) / labels as f64 + of_judge).sqrt()
    }

    /// The smallest number of labels whose half-width is small enough; half-widths only shrink.
    fn smallest(&self, half_width_at: impl Fn(u64) -> f64) -> u64 {
        let enough = |labels: u64| half_width_at(labels) <= self.half_width;
        let mut high = 1;
        while !enough(high) && high < u64::MAX / 2 {
            high *= 2;
        }
        let mut low = high / 2;
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if enough(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }
}
