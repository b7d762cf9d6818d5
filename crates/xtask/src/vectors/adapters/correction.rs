//! Adapters of the corrections of a judge.

use karat_stats::correction::{JudgeCounts, rogan_gladen};
use serde_json::{Value, json};

use crate::vectors::Adapter;
use crate::vectors::input::{integer, json, level, lower, message, upper};

/// Adapters by the stem of the vector file.
pub const ADAPTERS: &[(&str, Adapter)] = &[("rogan_gladen", pass_rate)];

fn count(input: &Value, name: &str) -> Result<u64, String> {
    Ok(integer(input, name)? as u64)
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
