//! Adapters of the preference statistics.

use karat_stats::{
    bootstrap::Resampling,
    interval::Level,
    numeric::seed::Seed,
    preference::{
        Games, NoMaximum, Pairing, PreferenceModel, Preferred, bradley_terry, davidson, position_bias, rank_models,
    },
};
use serde_json::{Value, json};

use crate::vectors::Adapter;
use crate::vectors::input::{array, integer, json, lower, message, number, upper};

/// Adapters by the stem of the vector file.
pub const ADAPTERS: &[(&str, Adapter)] =
    &[("bradley_terry", strengths), ("position_bias", positions), ("ranking", ranking)];

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

fn ranking(input: &Value) -> Result<Value, String> {
    let wrong = || "reading the input: a game should be [a, b, wins of a, wins of b, ties]".to_owned();
    let pairing = |game: &Value| {
        let game = game.as_array().ok_or_else(wrong)?;
        let numbers: Option<Vec<u64>> = game.iter().map(Value::as_u64).collect();
        match numbers.as_deref() {
            Some([a, b, wins_a, wins_b, ties]) => {
                Ok(Pairing { a: *a as usize, b: *b as usize, wins_a: *wins_a, wins_b: *wins_b, ties: *ties })
            }
            _ => Err(wrong()),
        }
    };
    let cluster = |games: &Value| games.as_array().ok_or_else(wrong)?.iter().map(pairing).collect();
    let clusters: Vec<Vec<Pairing>> = array(input, "clusters")?.iter().map(cluster).collect::<Result<_, String>>()?;
    let resampling = Resampling { resamples: integer(input, "resamples")?, ..Resampling::new(Seed(1)) };
    let ranking = rank_models(integer(input, "n_models")?, &clusters, Level::P95, &resampling).map_err(message)?;
    let ranking = ranking.ok_or("there is no game")?;
    let models = || ranking.models.iter();
    let reach = models().map(|it| it.interval.map(|interval| interval.hi - it.log_strength));
    let pairs = ranking.pairs.iter().map(|pair| {
        json!({ "difference": pair.difference, "better": pair.better, "p": pair.p, "p_adjusted": pair.p_adjusted })
    });
    Ok(json!({
        "model": match ranking.model {
            PreferenceModel::BradleyTerry => "bradley_terry",
            PreferenceModel::Davidson => "davidson",
        },
        "games": ranking.games,
        "clusters": ranking.clusters,
        "ties": ranking.ties,
        "prior": ranking.prior,
        "no_maximum": match &ranking.no_maximum {
            None => Value::Null,
            Some(NoMaximum::Disconnected(groups)) => json!({ "disconnected": groups }),
            Some(NoMaximum::Separated { undefeated, winless }) => {
                json!({ "undefeated": undefeated, "winless": winless })
            }
        },
        "log_strength": models().map(|it| it.log_strength).collect::<Vec<_>>(),
        "standard_error": models().map(|it| it.standard_error).collect::<Vec<_>>(),
        "reach": reach.collect::<Vec<_>>(),
        "pairs": pairs.collect::<Vec<_>>(),
    }))
}
