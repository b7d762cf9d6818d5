//! Adapters of power and planning.

use karat_stats::{
    interval::Level,
    power::{
        Alternative, TrialDesign, detectable_difference, paired_t_effect, paired_t_items, paired_t_power,
        two_rates_items,
    },
};
use serde_json::{Value, json};

use crate::vectors::Adapter;
use crate::vectors::input::{integer, json, number, text};

/// Adapters by the stem of the vector file.
pub const ADAPTERS: &[(&str, Adapter)] = &[("power", solve)];

fn solve(input: &Value) -> Result<Value, String> {
    let level = Level::from_alpha(number(input, "alpha")?).ok_or("alpha is not between 0 and 1")?;
    match text(input, "solve")? {
        "power" => {
            let power =
                paired_t_power(number(input, "effect_size_dz")?, number(input, "n")?, level, alternative(input)?);
            Ok(json!({ "power": json(power) }))
        }
        "n" => {
            let dz = number(input, "effect_size_dz")?;
            Ok(items(paired_t_items(dz, number(input, "power")?, level, alternative(input)?)))
        }
        "mde" => detectable(input, level),
        "n_miller" => {
            let trials = |name: &str| integer(input, name).map(|k| u32::try_from(k).unwrap_or(u32::MAX));
            let design = TrialDesign {
                between_questions: number(input, "omega2")?,
                within_candidate: number(input, "sigma2_a")?,
                within_baseline: number(input, "sigma2_b")?,
                trials_candidate: trials("k_a")?,
                trials_baseline: trials("k_b")?,
            };
            Ok(items(design.questions_for(number(input, "delta")?, level, number(input, "power")?)))
        }
        "n_two_proportions" => {
            let n = two_rates_items(number(input, "p1")?, number(input, "p2")?, level, number(input, "power")?);
            Ok(json!({ "n_per_arm": json(n) }))
        }
        other => Err(format!("cannot solve for {other}")),
    }
}

fn detectable(input: &Value, level: Level) -> Result<Value, String> {
    let (n, sd, power) = (number(input, "n")?, number(input, "sd_diff")?, number(input, "power")?);
    let alternative = alternative(input)?;
    let dz = paired_t_effect(n, power, level, alternative);
    Ok(json!({
        "mde_dz": json(dz),
        "mde": json(dz.map(|dz| dz * sd)),
        "mde_normal_approx": json(detectable_difference(sd, n, level, power, alternative)),
    }))
}

fn items(n: Option<f64>) -> Value {
    json!({ "n_exact": json(n), "n_ceil": n.map(|n| n.ceil() as u64) })
}

fn alternative(input: &Value) -> Result<Alternative, String> {
    match text(input, "alternative")? {
        "two-sided" => Ok(Alternative::TwoSided),
        "larger" => Ok(Alternative::Larger),
        "smaller" => Ok(Alternative::Smaller),
        other => Err(format!("no alternative {other}")),
    }
}
