//! Adapters of the corrections of a judge.

use karat_stats::correction::{
    AnchoredMean, Direction, Isotonic, JudgeCounts, LabelPlan, ScoreError, label_budget, ppi_mean, recalibrate,
    rogan_gladen,
};
use serde_json::{Value, json};

use crate::vectors::Adapter;
use crate::vectors::input::{as_indices, field, integer, json, level, lower, message, number, observed_values, upper};

/// Adapters by the stem of the vector file.
pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("ppi_mean", ppi),
    ("label_budget", budget),
    ("rogan_gladen", pass_rate),
    ("isotonic", isotonic),
    ("recalibration_cv", recalibration),
];

fn ppi(input: &Value) -> Result<Value, String> {
    let human = observed_values(input, "human")?;
    let judge_unlabelled = observed_values(input, "judge_unlabelled")?;
    let judge_on_human = observed_values(input, "judge_on_human")?;
    let means = ppi_mean(&human, &judge_on_human, &judge_unlabelled, level(input)?).map_err(message)?;
    let estimator = |mean: Option<AnchoredMean>| {
        mean.map(|mean| {
            json!({
                "estimate": json(mean.estimate),
                "se_ddof0": json(mean.se_population),
                "z_lower": json(mean.z_interval.lo),
                "z_upper": json(mean.z_interval.hi),
                "se_ddof1": json(mean.standard_error),
                "df_satterthwaite": json(mean.degrees_of_freedom),
                "t_lower": json(mean.interval.lo),
                "t_upper": json(mean.interval.hi),
            })
        })
    };
    Ok(json!({
        "n": human.len(),
        "N": judge_unlabelled.len(),
        "lambda": json(means.map(|m| m.lambda)),
        "judge_only_mean": json(means.map(|m| m.judge_only_mean)),
        "rectifier": json(means.map(|m| m.rectifier)),
        "classical": estimator(means.map(|m| m.classical)),
        "ppi": estimator(means.map(|m| m.ppi)),
        "ppi_pp": estimator(means.map(|m| m.tuned)),
    }))
}

fn count(input: &Value, name: &str) -> Result<u64, String> {
    Ok(integer(input, name)? as u64)
}

fn budget(input: &Value) -> Result<Value, String> {
    let plan = LabelPlan {
        var_human: number(input, "var_human")?,
        var_judge: number(input, "var_judge")?,
        correlation: number(input, "correlation")?,
        n_unlabelled: count(input, "n_unlabelled")?,
        half_width: number(input, "half_width")?,
        level: level(input)?,
    };
    let budget = label_budget(&plan).map_err(message)?;
    Ok(json!({
        "labels_ppi_pp": budget.labels_ppi_pp,
        "lambda_at_n": json(budget.lambda),
        "half_width_at_n": json(budget.half_width),
        "labels_classical": budget.labels_classical,
        "half_width_judge_floor": json(budget.half_width_judge_floor),
    }))
}

fn pass_rate(input: &Value) -> Result<Value, String> {
    let counts = JudgeCounts {
        judge_pass: count(input, "judge_pass")?,
        judge_total: count(input, "judge_total")?,
        true_pos: count(input, "true_pos")?,
        human_pos: count(input, "human_pos")?,
        true_neg: count(input, "true_neg")?,
        human_neg: count(input, "human_neg")?,
    };
    let rate = rogan_gladen(&counts, level(input)?).map_err(message)?;
    let delta = rate.corrected.map(|c| c.delta_interval);
    let interval = rate.corrected.and_then(|c| c.interval);
    Ok(json!({
        "raw_rate": json(rate.raw_rate),
        "sensitivity": json(rate.sensitivity),
        "specificity": json(rate.specificity),
        "youden_j": json(rate.youden_j),
        "estimate_unclipped": json(rate.corrected.map(|c| c.unclipped)),
        "estimate": json(rate.corrected.map(|c| c.estimate)),
        "se_delta": json(rate.corrected.map(|c| c.standard_error)),
        "delta_lower": lower(delta),
        "delta_upper": upper(delta),
        "lr_lower": lower(interval),
        "lr_upper": upper(interval),
    }))
}

fn isotonic(input: &Value) -> Result<Value, String> {
    let x = observed_values(input, "x")?;
    let weights = match field(input, "weights")? {
        Value::Null => None,
        _ => Some(observed_values(input, "weights")?),
    };
    let direction = match field(input, "increasing")?.as_bool() {
        Some(true) => Direction::Increasing,
        Some(false) => Direction::Decreasing,
        None => {
            return Err("reading the input: field increasing should be true or false".to_owned());
        }
    };
    let fit = Isotonic::fit(&x, &observed_values(input, "y")?, weights.as_deref(), direction).map_err(message)?;
    let values =
        |at: Vec<f64>| -> Vec<Value> { at.into_iter().map(|x| json(fit.as_ref().map(|fit| fit.predict(x)))).collect() };
    Ok(json!({ "fitted": values(x), "predicted": values(observed_values(input, "x_new")?) }))
}

fn recalibration(input: &Value) -> Result<Value, String> {
    let fold = as_indices(field(input, "fold")?).ok_or("reading the input: field fold should hold whole numbers")?;
    let result =
        recalibrate(&observed_values(input, "judge")?, &observed_values(input, "human")?, &fold).map_err(message)?;
    let Some(result) = result else {
        return Ok(Value::Null);
    };
    let error = |error: ScoreError| {
        json!({
            "bias": json(error.bias),
            "mae": json(error.mean_absolute_error),
            "rmse": json(error.root_mean_square_error),
        })
    };
    Ok(json!({
        "slope": json(result.line.slope),
        "intercept": json(result.line.intercept),
        "raw": error(result.raw),
        "linear_oof": result.linear_out_of_fold,
        "linear_cv": error(result.linear_error),
        "isotonic_oof": result.isotonic_out_of_fold,
        "isotonic_cv": error(result.isotonic_error),
    }))
}
