//! Adapters of power and planning.

use karat_stats::{
    interval::Level,
    power::{Alternative, paired_t_effect, paired_t_items, paired_t_power},
};
use serde_json::{Value, json};

use crate::vectors::Adapter;
use crate::vectors::input::{json, number, text};

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
        other => Err(format!("cannot solve for {other}")),
    }
}

fn detectable(input: &Value, level: Level) -> Result<Value, String> {
    let (n, sd, power) = (number(input, "n")?, number(input, "sd_diff")?, number(input, "power")?);
    let dz = paired_t_effect(n, power, level, alternative(input)?);
    Ok(json!({
        "mde_dz": json(dz),
        "mde": json(dz.map(|dz| dz * sd)),
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
