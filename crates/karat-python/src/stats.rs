//! Statistics as plain functions. `karat.stats` gives their results types.

#![allow(clippy::type_complexity, reason = "a tuple is what Python takes apart and names")]

use std::num::NonZeroUsize;

use karat_stats::agreement::{
    Contingency, Measurement, Ratings, Weighting, cohen_kappa, kendall_tau_b, krippendorff_alpha, pearson,
    score_indices, spearman,
};
use karat_stats::bootstrap::{Resampling, bootstrap_mean};
use karat_stats::calibration::calibration;
use karat_stats::compare::multiplicity::{Correction, adjust};
use karat_stats::compare::{PairedOutcomes, WilcoxonZeros, effect_sizes, paired_t, sign_test, wilcoxon};
use karat_stats::describe::{Proportion, Task, clustered_mean, mean_with_t_interval, pass_at_k};
use karat_stats::interval::{Interval, Level};
use karat_stats::numeric::seed::Seed;
use karat_stats::power::{Alternative, paired_t_items, paired_t_power};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::bad_value;

/// An interval: lower and upper bound, level, method.
type Bounds = (f64, f64, f64, &'static str);

/// Adds the functions to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(stats_mean, module)?)?;
    module.add_function(wrap_pyfunction!(stats_proportion, module)?)?;
    module.add_function(wrap_pyfunction!(stats_bootstrap_mean, module)?)?;
    module.add_function(wrap_pyfunction!(stats_paired_t, module)?)?;
    module.add_function(wrap_pyfunction!(stats_wilcoxon, module)?)?;
    module.add_function(wrap_pyfunction!(stats_sign_test, module)?)?;
    module.add_function(wrap_pyfunction!(stats_mcnemar, module)?)?;
    module.add_function(wrap_pyfunction!(stats_effect_sizes, module)?)?;
    module.add_function(wrap_pyfunction!(stats_adjust, module)?)?;
    module.add_function(wrap_pyfunction!(stats_power, module)?)?;
    module.add_function(wrap_pyfunction!(stats_items_needed, module)?)?;
    module.add_function(wrap_pyfunction!(stats_cohen_kappa, module)?)?;
    module.add_function(wrap_pyfunction!(stats_krippendorff_alpha, module)?)?;
    module.add_function(wrap_pyfunction!(stats_correlation, module)?)?;
    module.add_function(wrap_pyfunction!(stats_pass_at_k, module)?)?;
    module.add_function(wrap_pyfunction!(stats_calibration, module)?)
}

fn level(level: f64) -> PyResult<Level> {
    Level::new(level)
        .ok_or_else(|| bad_value(format!("the level is {level}; it must be between 0 and 1, such as 0.95")))
}

fn bounds(interval: Interval) -> Bounds {
    (interval.lo, interval.hi, interval.level.get(), interval.method.as_str())
}

/// Values without NaN and infinity, of which no statistic is defined.
fn finite(values: Vec<f64>) -> PyResult<Vec<f64>> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(values),
        Some(at) => {
            Err(bad_value(format!("value {at} is not a finite number; drop missing values and report how many")))
        }
    }
}

/// Differences of pairs, candidate − baseline.
fn differences(baseline: Vec<f64>, candidate: Vec<f64>) -> PyResult<Vec<f64>> {
    let (baseline, candidate) = (finite(baseline)?, finite(candidate)?);
    if baseline.len() != candidate.len() {
        let (left, right) = (baseline.len(), candidate.len());
        return Err(bad_value(format!("there are {left} baseline values and {right} of the candidate; pass pairs")));
    }
    Ok(karat_stats::compare::differences(&candidate, &baseline))
}

/// n, mean, standard error, interval.
#[pyfunction]
fn stats_mean(
    values: Vec<f64>,
    clusters: Option<Vec<String>>,
    confidence: f64,
) -> PyResult<(usize, Option<f64>, Option<f64>, Option<Bounds>)> {
    let (values, level) = (finite(values)?, level(confidence)?);
    Ok(match clusters {
        None => {
            let found = mean_with_t_interval(&values, level);
            (found.n, found.mean, found.standard_error, found.interval.map(bounds))
        }
        Some(clusters) => {
            let found = clustered_mean(&values, &clusters, level).map_err(bad_value)?;
            (found.n, found.mean, found.standard_error, found.interval.map(bounds))
        }
    })
}

/// Rate and interval; `None` without trials.
#[pyfunction]
fn stats_proportion(successes: f64, n: f64, method: &str, confidence: f64) -> PyResult<Option<(f64, Bounds)>> {
    let level = level(confidence)?;
    let Some(share) = Proportion::new(successes, n) else { return Ok(None) };
    let interval = match method {
        "wilson" => share.wilson(level),
        "clopper-pearson" => share.clopper_pearson(level),
        "agresti-coull" => share.agresti_coull(level),
        "jeffreys" => share.jeffreys(level),
        "wald" => share.wald(level),
        other => {
            return Err(bad_value(format!(
                "there is no method `{other}`; use wilson, clopper-pearson, agresti-coull, jeffreys or wald"
            )));
        }
    };
    Ok(Some((share.rate(), bounds(interval))))
}

/// Mean and percentile interval; `None` without values.
#[pyfunction]
fn stats_bootstrap_mean(
    py: Python<'_>,
    values: Vec<f64>,
    resamples: usize,
    seed: u64,
    confidence: f64,
) -> PyResult<Option<(f64, Option<Bounds>)>> {
    let (values, level) = (finite(values)?, level(confidence)?);
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let resampling = Resampling { resamples, seed: Seed(seed), threads };
    let drawn = py.detach(|| bootstrap_mean(&values, &resampling));
    Ok(drawn.map(|drawn| (drawn.estimate(), drawn.percentile(level).map(bounds))))
}

/// The figures of the paired t test by name.
#[pyfunction]
fn stats_paired_t<'py>(
    py: Python<'py>,
    baseline: Vec<f64>,
    candidate: Vec<f64>,
    confidence: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let found = paired_t(&differences(baseline, candidate)?, level(confidence)?);
    let figures = PyDict::new(py);
    figures.set_item("n", found.n)?;
    figures.set_item("mean", found.mean)?;
    figures.set_item("standard_error", found.standard_error)?;
    // A constant difference has an infinite t, which is not a number.
    figures.set_item("t", found.t.filter(|t| t.is_finite()))?;
    figures.set_item("p_two_sided", found.p_two_sided)?;
    figures.set_item("p_less", found.p_less)?;
    figures.set_item("p_greater", found.p_greater)?;
    figures.set_item("interval", found.interval.map(bounds))?;
    figures.set_item("cohen_dz", found.cohen_dz)?;
    Ok(figures)
}

/// W⁺, W⁻, exact and normal p-values; `None` without pairs.
#[pyfunction]
fn stats_wilcoxon(
    baseline: Vec<f64>,
    candidate: Vec<f64>,
    zeros: &str,
) -> PyResult<Option<(f64, f64, Option<f64>, Option<f64>)>> {
    let zeros = match zeros {
        "pratt" => WilcoxonZeros::Pratt,
        "drop" => WilcoxonZeros::Drop,
        other => return Err(bad_value(format!("`zeros` is {other:?}; use pratt or drop"))),
    };
    let found = wilcoxon(&differences(baseline, candidate)?, zeros);
    Ok(found.map(|it| (it.w_plus, it.w_minus, it.p_exact_two_sided, it.p_normal)))
}

/// Positive, negative and zero differences, and the exact p-value; `None` without pairs.
#[pyfunction]
fn stats_sign_test(baseline: Vec<f64>, candidate: Vec<f64>) -> PyResult<Option<(usize, usize, usize, f64)>> {
    let found = sign_test(&differences(baseline, candidate)?);
    Ok(found.map(|it| (it.positive, it.negative, it.zero, it.p_two_sided)))
}

/// Discordant pairs, exact and mid p-value, difference of the rates and its interval.
#[pyfunction]
fn stats_mcnemar(
    baseline: Vec<bool>,
    candidate: Vec<bool>,
    confidence: f64,
) -> PyResult<(u64, f64, f64, Option<f64>, Option<Bounds>)> {
    let level = level(confidence)?;
    if baseline.len() != candidate.len() {
        return Err(bad_value("the two lists have different lengths; pass one outcome of each for every item"));
    }
    let outcomes = PairedOutcomes::count(baseline.into_iter().zip(candidate));
    let found = outcomes.mcnemar();
    Ok((found.discordant, found.p_exact, found.p_mid, found.difference, outcomes.interval(level).map(bounds)))
}

/// Effect sizes by name.
#[pyfunction]
fn stats_effect_sizes<'py>(py: Python<'py>, baseline: Vec<f64>, candidate: Vec<f64>) -> PyResult<Bound<'py, PyDict>> {
    let found = effect_sizes(&finite(baseline)?, &finite(candidate)?);
    let figures = PyDict::new(py);
    figures.set_item("mean_difference", found.mean_difference)?;
    figures.set_item("cohen_d", found.cohen_d)?;
    figures.set_item("hedges_g", found.hedges_g)?;
    figures.set_item("glass_delta", found.glass_delta)?;
    figures.set_item("cliffs_delta", found.cliffs_delta)?;
    figures.set_item("vargha_delaney_a", found.vargha_delaney_a)?;
    Ok(figures)
}

/// Adjusted p-values.
#[pyfunction]
fn stats_adjust(p_values: Vec<Option<f64>>, correction: &str) -> PyResult<Vec<Option<f64>>> {
    let correction = match correction {
        "bonferroni" => Correction::Bonferroni,
        "holm" => Correction::Holm,
        "hochberg" => Correction::Hochberg,
        "bh" => Correction::BenjaminiHochberg,
        "by" => Correction::BenjaminiYekutieli,
        other => {
            return Err(bad_value(format!(
                "there is no correction `{other}`; use bonferroni, holm, hochberg, bh or by"
            )));
        }
    };
    if let Some(wrong) = p_values.iter().flatten().find(|p| !(0.0..=1.0).contains(*p)) {
        return Err(bad_value(format!("{wrong} is not a p-value between 0 and 1")));
    }
    Ok(adjust(&p_values, correction))
}

/// Power of the paired t test.
#[pyfunction]
fn stats_power(effect: f64, n: f64, confidence: f64) -> PyResult<Option<f64>> {
    Ok(paired_t_power(effect, n, level(confidence)?, Alternative::TwoSided))
}

/// Items that the paired t test needs.
#[pyfunction]
fn stats_items_needed(effect: f64, power: f64, confidence: f64) -> PyResult<Option<f64>> {
    Ok(paired_t_items(effect, power, level(confidence)?, Alternative::TwoSided))
}

/// Kappa and its interval; `None` where it is undefined.
#[pyfunction]
fn stats_cohen_kappa(
    a: Vec<f64>,
    b: Vec<f64>,
    scale: Vec<f64>,
    weights: &str,
    confidence: f64,
) -> PyResult<Option<(f64, Option<Bounds>)>> {
    let weighting = match weights {
        "none" => Weighting::Identity,
        "linear" => Weighting::Linear,
        "quadratic" => Weighting::Quadratic,
        other => return Err(bad_value(format!("`weights` is {other:?}; use none, linear or quadratic"))),
    };
    let level = level(confidence)?;
    let indices = |name, scores: &[f64]| score_indices(name, scores, &scale).map_err(bad_value);
    let table = Contingency::from_indices(&indices("a", &a)?, &indices("b", &b)?, scale.len()).map_err(bad_value)?;
    Ok(cohen_kappa(&table, weighting).map(|kappa| (kappa.kappa, kappa.interval(level).map(bounds))))
}

/// Alpha of raters, each a list with a value or `None` for every unit; `None` where it is undefined.
#[pyfunction]
fn stats_krippendorff_alpha(raters: Vec<Vec<Option<f64>>>, measurement: &str) -> PyResult<Option<f64>> {
    let measurement = match measurement {
        "nominal" => Measurement::Nominal,
        "ordinal" => Measurement::Ordinal,
        "interval" => Measurement::Interval,
        "ratio" => Measurement::Ratio,
        other => {
            return Err(bad_value(format!("`measurement` is {other:?}; use nominal, ordinal, interval or ratio")));
        }
    };
    krippendorff_alpha(&Ratings::from_raters(&raters).map_err(bad_value)?, measurement).map_err(bad_value)
}

/// Coefficient and p-value; `None` where it is undefined.
#[pyfunction]
fn stats_correlation(x: Vec<f64>, y: Vec<f64>, kind: &str) -> PyResult<Option<(f64, Option<f64>)>> {
    match kind {
        "pearson" => {
            let found = pearson(&x, &y, Level::P95).map_err(bad_value)?;
            Ok(found.map(|found| (found.correlation.value, found.correlation.p_value)))
        }
        "spearman" => Ok(spearman(&x, &y).map_err(bad_value)?.map(|found| (found.value, found.p_value))),
        "kendall" => {
            let found = kendall_tau_b(&x, &y).map_err(bad_value)?;
            Ok(found.map(|found| (found.tau_b, found.p_exact.or(found.p_asymptotic))))
        }
        other => Err(bad_value(format!("there is no correlation `{other}`; use pearson, spearman or kendall"))),
    }
}

/// Mean pass@k and pass^k of tasks as `(samples, passed)`, with their standard errors and the number of tasks.
#[pyfunction]
fn stats_pass_at_k(
    tasks: Vec<(usize, usize)>,
    k: usize,
) -> PyResult<(Option<f64>, Option<f64>, Option<f64>, Option<f64>, usize)> {
    if let Some((n, passed)) = tasks.iter().find(|(n, passed)| passed > n) {
        return Err(bad_value(format!("a task has {passed} passed samples of {n}")));
    }
    let tasks: Vec<Task> = tasks.into_iter().map(|(n, passed)| Task { n, passed }).collect();
    let found = pass_at_k(&tasks, k);
    Ok((found.mean_any, found.mean_all, found.standard_error_any, found.standard_error_all, found.n_tasks))
}

/// The figures of calibration by name; `None` without items.
#[pyfunction]
fn stats_calibration<'py>(
    py: Python<'py>,
    confidence: Vec<f64>,
    correct: Vec<bool>,
    bins: usize,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let found = calibration(&confidence, &correct, bins).map_err(bad_value)?;
    let Some(summary) = found.summary else { return Ok(None) };
    let figures = PyDict::new(py);
    figures.set_item("ece", summary.ece)?;
    figures.set_item("ece_equal_mass", summary.ece_equal_mass)?;
    figures.set_item("mce", summary.mce)?;
    figures.set_item("brier", summary.brier)?;
    figures.set_item("log_loss", summary.log_loss)?;
    figures.set_item("accuracy", summary.accuracy)?;
    figures.set_item("mean_confidence", summary.mean_confidence)?;
    Ok(Some(figures))
}
