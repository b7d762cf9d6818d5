//! Adapters of the sequential methods.

use karat_stats::sequential::{
    AsymptoticSequence, BettingSequence, Boundary, GateVerdict, SequentialGate, empirical_bernstein, gate_early_stop,
    group_sequential, sequential_paired,
};
use serde_json::{Value, json};

use crate::vectors::Adapter;
use crate::vectors::input::{complete_pairs, field, integer, json, message, number, observed_values, text};

/// Adapters by the stem of the vector file.
pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("confseq_empbern", bernstein),
    ("confseq_betting", betting_sequence),
    ("confseq_asymptotic", asymptotic),
    ("gate_early_stop", gate),
    ("sequential_paired", paired_sequence),
    ("group_sequential", group),
];

fn series<T>(points: &[T], of: impl Fn(&T) -> f64) -> Vec<Value> {
    points.iter().map(|point| json(of(point))).collect()
}

fn bernstein(input: &Value) -> Result<Value, String> {
    let values = observed_values(input, "values")?;
    let (alpha, truncation) = (number(input, "alpha")?, number(input, "truncation")?);
    let points = empirical_bernstein(&values, alpha, truncation).map_err(message)?;
    Ok(json!({
        "lower": series(&points, |p| p.lower),
        "upper": series(&points, |p| p.upper),
        "lower_running": series(&points, |p| p.lower_running),
        "upper_running": series(&points, |p| p.upper_running),
    }))
}

/// The vectors test three fixed means and that of the values, and look after some of the values.
fn betting_sequence(input: &Value) -> Result<Value, String> {
    let values = observed_values(input, "values")?;
    let population = match field(input, "population_size")? {
        Value::Null => None,
        _ => Some(integer(input, "population_size")? as u64),
    };
    let sequence = BettingSequence::new(&values, number(input, "alpha")?, population).map_err(message)?;
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let rounded: f64 = format!("{:.3}", mean.clamp(0.02, 0.98)).parse().unwrap_or(mean);
    let mut means = vec![0.25, 0.5, 0.75, rounded];
    means.sort_by(f64::total_cmp);
    means.dedup();
    let wealth = means.into_iter().map(|m| {
        let wealth = sequence.wealth(m);
        json!({
            "m": m,
            "wealth_plus": series(&wealth, |w| w.plus),
            "wealth_minus": series(&wealth, |w| w.minus),
            "hedged": series(&wealth, |w| w.hedged),
        })
    });
    let mut looks: Vec<usize> =
        [1, 2, 3, 5, 10, 20, 30, 50, values.len()].into_iter().filter(|t| *t > 0 && *t <= values.len()).collect();
    looks.sort_unstable();
    looks.dedup();
    let checkpoints = looks.into_iter().map(|t| {
        let bounds = sequence.bounds(t);
        json!({ "t": t, "lower": json(bounds.lower), "upper": json(bounds.upper) })
    });
    Ok(json!({
        "wealth": wealth.collect::<Vec<_>>(),
        "checkpoints": checkpoints.collect::<Vec<_>>(),
    }))
}

fn asymptotic(input: &Value) -> Result<Value, String> {
    let sequence = AsymptoticSequence::new(number(input, "alpha")?, number(input, "t_opt")?).map_err(message)?;
    let points = sequence.points(&observed_values(input, "values")?).map_err(message)?;
    Ok(json!({
        "rho2_approx": json(sequence.rho_squared()),
        "rho2_exact": json(sequence.rho_squared_exact()),
        "mean": series(&points, |p| p.mean),
        "half_width": series(&points, |p| p.half_width),
    }))
}

fn gate(input: &Value) -> Result<Value, String> {
    let gate = SequentialGate {
        population: integer(input, "population_size")? as u64,
        threshold: number(input, "threshold")?,
        alpha: number(input, "alpha")?,
    };
    let run = gate_early_stop(&observed_values(input, "scores_in_random_order")?, &gate).map_err(message)?;
    let verdict = |verdict: GateVerdict| match verdict {
        GateVerdict::Pass => "pass",
        GateVerdict::Fail => "fail",
    };
    Ok(json!({
        "certain_lower": series(&run.points, |p| p.certain_lower),
        "certain_upper": series(&run.points, |p| p.certain_upper),
        "certain_stop": run.certain.map(|d| d.items),
        "certain_verdict": run.certain.map(|d| verdict(d.verdict)),
        "e_pass": series(&run.points, |p| p.e_pass),
        "e_fail": series(&run.points, |p| p.e_fail),
        "e_pass_stop": run.e_pass_stop,
        "e_fail_stop": run.e_fail_stop,
        "stop": run.decision.map(|d| d.items),
        "verdict": run.decision.map(|d| verdict(d.verdict)),
    }))
}

fn paired_sequence(input: &Value) -> Result<Value, String> {
    let (baseline, candidate) = complete_pairs(input, "baseline", "candidate")?;
    let test = sequential_paired(&baseline, &candidate, number(input, "alpha")?).map_err(message)?;
    Ok(json!({
        "e_improvement": series(&test.e_improvement, |e| *e),
        "e_regression": series(&test.e_regression, |e| *e),
        "e_two_sided": series(&test.e_two_sided, |e| *e),
        "stop_improvement": test.stop_improvement,
        "stop_regression": test.stop_regression,
        "stop_two_sided": test.stop_two_sided,
        "anytime_p_two_sided": json(test.anytime_p),
    }))
}

fn group(input: &Value) -> Result<Value, String> {
    let boundary = match text(input, "type")? {
        "pocock" => Boundary::Pocock,
        "obrien_fleming" => Boundary::OBrienFleming,
        "ld_obf" => Boundary::LanDeMetsOBrienFleming,
        "ld_pocock" => Boundary::LanDeMetsPocock,
        other => return Err(format!("reading the input: unknown boundary type {other}")),
    };
    let looks = group_sequential(boundary, integer(input, "looks")?, number(input, "alpha")?).map_err(message)?;
    Ok(json!({
        "critical_z": series(&looks, |look| look.critical_z),
        "cumulative_alpha": series(&looks, |look| look.cumulative_alpha),
    }))
}
