//! Adapters of the preference statistics.

use karat_stats::{
    interval::Level,
    preference::{Games, Pairing, Preferred, bradley_terry, davidson, position_bias},
};
use serde_json::{Value, json};

use crate::vectors::Adapter;
use crate::vectors::input::{array, integer, json, lower, message, number, upper};

/// Adapters by the stem of the vector file.
pub const ADAPTERS: &[(&str, Adapter)] = &[("bradley_terry", strengths), ("position_bias", positions)];

fn strengths(input: &Value) -> Result<Value, String> {
    let count = |game: &Value, name: &str| integer(game, name).map(|n| n as u64);
    let pairing = |game: &Value| {
        Ok(Pairing {
            a: integer(game, "a")?,
            b: integer(game, "b")?,
            wins_a: count(game, "wins_a")?,
            wins_b: count(game, "wins_b")?,
            ties: count(game, "ties")?,
        })
    };
    let pairings = array(input, "games")?.iter().map(pairing).collect::<Result<_, String>>()?;
    let games = Games::new(integer(input, "n_models")?, pairings).map_err(message)?;
    let prior = number(input, "prior_pseudo_wins")?;
    let fit = bradley_terry(&games, prior).map_err(message)?;
    // Davidson's model has no prior.
    let ties = if prior > 0.0 { None } else { davidson(&games) };
    let ties = ties.as_ref();
    let fit = fit.as_ref();
    Ok(json!({
        "log_strength": fit.map(|fit| &fit.log_strength),
        "elo": fit.map(|fit| &fit.elo),
        "se_log_strength": fit.map(|fit| &fit.standard_error),
        "log_likelihood": json(fit.map(|fit| fit.log_likelihood)),
        "davidson": {
            "log_strength": ties.map(|fit| &fit.log_strength),
            "nu": json(ties.map(|fit| fit.tie)),
            "log_likelihood": json(ties.map(|fit| fit.log_likelihood)),
            "se_log_strength": ties.map(|fit| &fit.standard_error),
        },
    }))
}

fn positions(input: &Value) -> Result<Value, String> {
    let preferred = |verdict: Option<&Value>| match verdict.and_then(Value::as_str) {
        Some("A") => Ok(Preferred::A),
        Some("B") => Ok(Preferred::B),
        Some("tie") => Ok(Preferred::Tie),
        _ => Err("reading the input: a verdict should be A, B or tie".to_owned()),
    };
    let both = |pair: &Value| Ok((preferred(pair.get(0))?, preferred(pair.get(1))?));
    let verdicts: Vec<_> = array(input, "verdicts")?.iter().map(both).collect::<Result<_, String>>()?;
    let bias = position_bias(&verdicts, Level::P95);
    Ok(json!({
        "n_pairs": bias.pairs,
        "n_consistent": bias.consistent,
        "flips_to_first": bias.flips_to_first,
        "flips_to_second": bias.flips_to_second,
        "first_wins": bias.first_wins,
        "second_wins": bias.second_wins,
        "consistency": json(bias.consistency),
        "consistency_ci_lower": lower(bias.consistency_interval),
        "consistency_ci_upper": upper(bias.consistency_interval),
        "first_position_rate": json(bias.first_position_rate),
        "p_position_bias": json(bias.p_value),
        "debiased_win_rate_a": json(bias.win_rate_a),
    }))
}
