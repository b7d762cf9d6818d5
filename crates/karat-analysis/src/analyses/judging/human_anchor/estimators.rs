//! The estimators: the mean of people for all samples, from labels of some and grades of all.

use karat_stats::correction::{AnchoredMean, JudgeCounts, LabelPlan, PpiMean, label_budget, ppi_mean, rogan_gladen};
use karat_stats::describe::{clustered_mean, mean, variance};
use karat_stats::interval::{Interval, Level};

use super::outcome::{AnchorMethod, AnchoredFigure};
use crate::figures::finding::Finding;
use crate::infer::measure::Measure;
use crate::score::observations::Observations;

/// The samples of one metric and system.
#[derive(Default)]
pub(super) struct AnchorSamples {
    pub human: Vec<f64>,
    pub judge: Vec<f64>,
    pub unlabelled: Vec<f64>,
    /// Clusters of the labelled samples, then of the others.
    pub clusters: (Vec<u32>, Vec<u32>),
}

/// A prediction-powered mean.
pub(super) struct PoweredMean {
    lambda: f64,
    estimate: f64,
    se: f64,
    interval: Option<Interval>,
    name: &'static str,
    /// Standard error of the labels alone.
    human_se: f64,
}

impl PoweredMean {
    pub fn write(self, samples: &AnchorSamples, figure: &mut AnchoredFigure) {
        let n = samples.human.len() + samples.unlabelled.len();
        let point = |value, n, name| Finding::point(value, n, name);
        figure.anchored =
            point(self.estimate, n, self.name).map(|it| it.with_named_interval(self.interval).with_se(self.se));
        figure.lambda =
            point(self.lambda, samples.human.len(), "PPI++ weight of the judge").filter(|_| self.lambda > 0.0);
        let worth = samples.human.len() as f64 * (self.human_se / self.se).powi(2);
        figure.worth = point(worth, samples.human.len(), "labels of equal precision").filter(|_| self.se > 0.0);
    }
}

pub(super) fn prediction_powered(
    samples: &AnchorSamples,
    method: AnchorMethod,
    clustered: bool,
    level: Level,
) -> Result<PoweredMean, String> {
    let failed = |error: karat_stats::numeric::input::InputError| error.to_string();
    if samples.unlabelled.len() < 2 {
        return labels_alone(samples, clustered, level);
    }
    let found = ppi_mean(&samples.human, &samples.judge, &samples.unlabelled, level).map_err(failed)?;
    let found: PpiMean = found.ok_or("the labels do not determine an estimate")?;
    let (lambda, mean, name): (f64, AnchoredMean, _) = match method {
        AnchorMethod::Ppi => (1.0, found.ppi, "PPI"),
        AnchorMethod::Human => (0.0, found.classical, "labels alone"),
        AnchorMethod::Tuned | AnchorMethod::RoganGladen => (found.lambda, found.tuned, "PPI++"),
    };
    let human_se = found.classical.standard_error;
    if !clustered {
        let interval = Interval { method: karat_stats::interval::Method::StudentT, ..mean.interval };
        return Ok(PoweredMean {
            lambda,
            estimate: mean.estimate,
            se: mean.standard_error,
            interval: Some(interval),
            name,
            human_se,
        });
    }
    let robust = |lambda: f64, centre: f64| influence(samples, lambda, centre, level);
    let (se, interval) = robust(lambda, mean.estimate).ok_or("at least two clusters are needed")?;
    let human_se = robust(0.0, found.classical.estimate).map_or(human_se, |(se, _)| se);
    Ok(PoweredMean { lambda, estimate: mean.estimate, se, interval: Some(interval), name, human_se })
}

/// The mean of the labels alone, if everything is labelled.
fn labels_alone(samples: &AnchorSamples, clustered: bool, level: Level) -> Result<PoweredMean, String> {
    let mut observed = Observations { clustered, ..Observations::default() };
    samples.human.iter().zip(&samples.clusters.0).for_each(|(value, cluster)| observed.push(*value, 0, *cluster));
    let found = Measure::of_mean(false, None, level).figure(&observed).ok_or("the labels do not determine a mean")?;
    let se = found.se().unwrap_or_default();
    let interval = found.interval().map(|(lo, hi)| Interval {
        lo,
        hi,
        level,
        method: if clustered {
            karat_stats::interval::Method::ClusterT
        } else {
            karat_stats::interval::Method::StudentT
        },
    });
    Ok(PoweredMean { lambda: 0.0, estimate: found.value(), se, interval, name: "labels alone", human_se: se })
}

/// Cluster-robust standard error and interval of λ·mean(F) + mean(y − λf), as the mean of its influences: with n labelled
/// and N other samples, T of both, θ + T/n·(rᵢ − r̄) and θ + T/N·λ(Fⱼ − F̄).
fn influence(samples: &AnchorSamples, lambda: f64, centre: f64, level: Level) -> Option<(f64, Interval)> {
    let residuals: Vec<f64> =
        samples.human.iter().zip(&samples.judge).map(|(human, judge)| human - lambda * judge).collect();
    let (n, others) = (residuals.len() as f64, samples.unlabelled.len() as f64);
    let (residual, judge) = (mean(&residuals)?, mean(&samples.unlabelled)?);
    let of_labels = residuals.iter().map(|it| centre + (n + others) / n * (it - residual));
    let of_judge = samples.unlabelled.iter().map(|it| centre + (n + others) / others * lambda * (it - judge));
    let values: Vec<f64> = of_labels.chain(of_judge).collect();
    let clusters: Vec<u32> = samples.clusters.0.iter().chain(&samples.clusters.1).copied().collect();
    let found = clustered_mean(&values, &clusters, level).ok()?;
    Some((found.standard_error?, found.interval?))
}

/// The pass rate corrected by the judge's sensitivity and specificity.
pub(super) fn corrected_rate(
    samples: &AnchorSamples,
    clustered: bool,
    level: Level,
) -> Result<Option<Finding>, String> {
    let is_verdict = |value: &f64| [0.0_f64, 1.0].iter().any(|verdict| value.total_cmp(verdict).is_eq());
    let all = samples.human.iter().chain(&samples.judge).chain(&samples.unlabelled);
    if !all.clone().all(is_verdict) {
        return Err("rogan_gladen corrects pass and fail; use ppi++ for grades".to_owned());
    }
    if clustered {
        return Err("rogan_gladen does not support clusters; use ppi++".to_owned());
    }
    let passes = |value: &f64| *value >= 1.0;
    let both = samples.human.iter().zip(&samples.judge);
    let count = |human: bool, agrees: bool| {
        both.clone().filter(|(y, f)| passes(y) == human && (!agrees || passes(f) == human)).count() as u64
    };
    let counts = JudgeCounts {
        judge_pass: samples.unlabelled.iter().filter(|value| passes(value)).count() as u64,
        judge_total: samples.unlabelled.len() as u64,
        true_pos: count(true, true),
        human_pos: count(true, false),
        true_neg: count(false, true),
        human_neg: count(false, false),
    };
    let found = rogan_gladen(&counts, level).map_err(|error| error.to_string())?;
    let corrected = found.corrected.ok_or(
        "the judge is no better than chance on the labels, or they lack passes or fails: its pass rate cannot be corrected",
    )?;
    let n = samples.human.len() + samples.unlabelled.len();
    let point = Finding::point(corrected.estimate, n, "Rogan-Gladen");
    Ok(point.map(|it| it.with_named_interval(corrected.interval).with_se(corrected.standard_error)))
}

/// The labels needed for an interval of this width, with the judge and without.
pub(super) fn labels_needed(samples: &AnchorSamples, width: f64, level: Level) -> Option<(u64, u64)> {
    let plan = LabelPlan {
        var_human: variance(&samples.human)?,
        var_judge: variance(&samples.judge)?,
        correlation: karat_stats::agreement::pearson(&samples.human, &samples.judge, level)
            .ok()
            .flatten()
            .map_or(0.0, |it| it.correlation.value),
        n_unlabelled: samples.unlabelled.len() as u64,
        half_width: 0.5 * width,
        level,
    };
    label_budget(&plan).ok().map(|budget| (budget.labels_ppi_pp, budget.labels_classical))
}
