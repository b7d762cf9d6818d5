//! `karat plan`, which is `karat run --dry-run`.

use karat_app::{Estimate, ModelEstimate, Reasons, count_noun};
use karat_types::{Exit, PlanHeader};
use serde_json::json;

use super::{Edge, power, selection, table};
use crate::args::{ExecutionArgs, SuiteArgs};
use crate::failure::Failure;

pub fn plan(
    edge: &Edge<'_>,
    suite: &SuiteArgs,
    execution: &ExecutionArgs,
    mde: &[String],
    as_json: bool,
) -> Result<Exit, Failure> {
    let invocation = selection::invocation(suite, execution)?;
    let loaded = edge.app.load(&invocation)?;
    edge.notices_of_run(&loaded.plan)?;
    let estimate = edge.app.estimate(&loaded.plan)?;
    let reasons = edge.app.reasons(&loaded.plan)?;
    let power = power::of(edge, &loaded.plan, mde)?;
    if as_json {
        let mut value = as_value(&loaded.plan.header, &estimate, &reasons);
        if let Some(power) = &power {
            value["power"] = json!({ "run": power.run, "metrics": power.metrics });
        }
        edge.json(&value)?;
    } else {
        let plan = text(&loaded.plan.header, &estimate, &reasons);
        let power = power.as_ref().map_or_else(String::new, |power| format!("\n{}", power::text(power)));
        edge.printer.data(&format!("{plan}{power}"))?;
    }
    Ok(Exit::Pass)
}

/// ` × 3 trials`, or nothing where each cell is made once.
fn trials(plan: &PlanHeader) -> String {
    let most = plan.systems.iter().map(|system| system.trials).max().unwrap_or(1);
    if most > 1 { format!(" × {most} trials") } else { String::new() }
}

fn text(plan: &PlanHeader, estimate: &Estimate, reasons: &Reasons) -> String {
    let (least, most) = estimate.calls();
    let models: std::collections::BTreeSet<_> = plan.systems.iter().filter_map(|system| system.model).collect();
    let mut text = format!(
        "{}: {} × {} ({}, {}){} = {}, {}\n",
        plan.suite,
        count_noun(plan.dataset.rows, "sample"),
        count_noun(plan.systems.len() as u64, "system"),
        count_noun(models.len() as u64, "model"),
        count_noun(plan.variants.len() as u64, "variant"),
        trials(plan),
        count_noun(plan.cells(), "cell"),
        count_noun(plan.judges.len() as u64, "judge")
    );
    let failing = match estimate.failing {
        0 => String::new(),
        failing => format!(", {failing} that fail before any call"),
    };
    text.push_str(&format!(
        "cells: {} to make{}, {} reused or found, {} left out by conditions{failing}\njudgments: {} to make{}, {} reused\n",
        estimate.fresh,
        listed(&reasons.outputs),
        estimate.reused,
        estimate.skipped,
        estimate.judgments_fresh,
        listed(&reasons.judgments),
        estimate.judgments_reused
    ));
    if let Some(oldest) = reasons.oldest_reused {
        text.push_str(&format!("oldest reused result: {}\n", karat_app::rfc3339(oldest)));
    }
    if reasons.cells < plan.cells() {
        text.push_str(&format!("(reasons are those of the first {} cells)\n", reasons.cells));
    }
    text.push_str(&format!("calls: {}\n", range(least, most)));
    if !estimate.models.is_empty() {
        let rows = estimate.models.iter().map(|model| {
            let cost = match model.cost {
                Some(_) if model.metered => "known afterwards".to_owned(),
                Some((low, high)) => format!("{} – {}", usd(low.usd()), usd(high.usd())),
                None => "unknown".to_owned(),
            };
            vec![
                model.id.clone(),
                role(model).to_owned(),
                range(model.calls.0, model.calls.1),
                range(model.input_tokens.0, model.input_tokens.1),
                range(model.output_tokens.0, model.output_tokens.1),
                cost,
            ]
        });
        text.push_str(&table(&["model", "role", "calls", "input tokens", "output tokens", "price"], rows));
        text.push('\n');
    }
    let (low, high) = estimate.cost();
    let unpriced: Vec<&str> = estimate.unpriced().collect();
    text.push_str(&format!("price: {} – {}", usd(low.usd()), usd(high.usd())));
    if !unpriced.is_empty() {
        text.push_str(&format!(", and nobody knows the price of {}", unpriced.join(", ")));
    }
    if estimate.models.iter().any(|model| model.metered) {
        text.push_str(", and what services and programs say that they cost");
    }
    text.push_str("\n(re-asks are in the upper figures, retries are not; no call was made)");
    text
}

/// Who is asked, in a word.
fn role(model: &ModelEstimate) -> &'static str {
    match (model.judge, model.outside) {
        (true, _) => "judge",
        (false, true) => "step",
        (false, false) => "model",
    }
}

fn as_value(plan: &PlanHeader, estimate: &Estimate, reasons: &Reasons) -> serde_json::Value {
    let models = estimate.models.iter().map(|model| {
        json!({
            "id": model.id,
            "judge": model.judge,
            "calls": [model.calls.0, model.calls.1],
            "input_tokens": [model.input_tokens.0, model.input_tokens.1],
            "output_tokens": [model.output_tokens.0, model.output_tokens.1],
            "cost_usd": model.cost.filter(|_| !model.metered).map(|(low, high)| [low.usd(), high.usd()]),
            "metered": model.metered,
        })
    });
    let (least, most) = estimate.calls();
    let (low, high) = estimate.cost();
    json!({
        "suite": plan.suite,
        "plan_hash": plan.plan_hash,
        "samples": plan.dataset.rows,
        "systems": plan.systems.len(),
        "judges": plan.judges.len(),
        "cells": { "planned": plan.cells(), "fresh": estimate.fresh, "reused": estimate.reused, "skipped": estimate.skipped, "failing": estimate.failing },
        "judgments": { "fresh": estimate.judgments_fresh, "reused": estimate.judgments_reused },
        "reasons": {
            "cells": reasons.cells,
            "outputs": reasons.outputs,
            "judgments": reasons.judgments,
            "oldest_reused": reasons.oldest_reused.map(karat_app::rfc3339),
        },
        "calls": [least, most],
        "cost_usd": [low.usd(), high.usd()],
        "models": models.collect::<Vec<_>>(),
    })
}

/// Why results are made, the most frequent reason first.
fn listed(reasons: &std::collections::BTreeMap<String, u64>) -> String {
    let mut reasons: Vec<(&String, &u64)> = reasons.iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let reasons: Vec<String> = reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) }
}

fn range(low: u64, high: u64) -> String {
    if low == high { low.to_string() } else { format!("{low} – {high}") }
}

/// Dollars with as many digits as a small bill needs.
pub(super) fn usd(usd: f64) -> String {
    if usd == 0.0 || usd >= 0.01 { format!("${usd:.2}") } else { format!("${usd:.6}") }
}
