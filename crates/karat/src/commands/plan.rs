//! `karat plan`, which is `karat run --dry-run`.

use karat_app::Estimate;
use karat_types::{Exit, PlanHeader};
use serde_json::json;

use super::{Edge, selection, table};
use crate::args::{ExecutionArgs, SuiteArgs};
use crate::failure::Failure;

pub fn plan(edge: &Edge<'_>, suite: &SuiteArgs, execution: &ExecutionArgs, as_json: bool) -> Result<Exit, Failure> {
    let invocation = selection::invocation(suite, execution)?;
    let loaded = edge.app.load(&invocation)?;
    edge.notices(&loaded.plan);
    let estimate = edge.app.estimate(&loaded.plan, &invocation)?;
    if as_json {
        edge.json(&as_value(&loaded.plan.header, &estimate))?;
    } else {
        edge.printer.data(&text(&loaded.plan.header, &estimate))?;
    }
    Ok(Exit::Pass)
}

fn text(plan: &PlanHeader, estimate: &Estimate) -> String {
    let (least, most) = estimate.calls();
    let models: std::collections::BTreeSet<_> = plan.systems.iter().filter_map(|system| system.model).collect();
    let mut text = format!(
        "{}: {} samples × {} systems ({} models, {} variants) × trials = {} cells, {} judges\n",
        plan.suite,
        plan.dataset.rows,
        plan.systems.len(),
        models.len(),
        plan.variants.len(),
        plan.cells(),
        plan.judges.len()
    );
    text.push_str(&format!(
        "cells: {} to make, {} reused, {} left out by conditions\njudgments: {} to make, {} reused\n",
        estimate.fresh, estimate.reused, estimate.skipped, estimate.judgments_fresh, estimate.judgments_reused
    ));
    text.push_str(&format!("calls: {}\n", range(least, most)));
    if !estimate.models.is_empty() {
        let rows = estimate.models.iter().map(|model| {
            let cost = match model.cost {
                Some((low, high)) => format!("{} – {}", usd(low.usd()), usd(high.usd())),
                None => "unknown".to_owned(),
            };
            vec![
                model.id.clone(),
                if model.judge { "judge".to_owned() } else { "model".to_owned() },
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
    text.push_str("\n(re-asks are in the upper figures, retries are not; no call was made)");
    text
}

fn as_value(plan: &PlanHeader, estimate: &Estimate) -> serde_json::Value {
    let models = estimate.models.iter().map(|model| {
        json!({
            "id": model.id,
            "judge": model.judge,
            "calls": [model.calls.0, model.calls.1],
            "input_tokens": [model.input_tokens.0, model.input_tokens.1],
            "output_tokens": [model.output_tokens.0, model.output_tokens.1],
            "cost_usd": model.cost.map(|(low, high)| [low.usd(), high.usd()]),
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
        "cells": { "planned": plan.cells(), "fresh": estimate.fresh, "reused": estimate.reused, "skipped": estimate.skipped },
        "judgments": { "fresh": estimate.judgments_fresh, "reused": estimate.judgments_reused },
        "calls": [least, most],
        "cost_usd": [low.usd(), high.usd()],
        "models": models.collect::<Vec<_>>(),
    })
}

fn range(low: u64, high: u64) -> String {
    if low == high { low.to_string() } else { format!("{low} – {high}") }
}

/// Dollars with as many digits as a small bill needs.
fn usd(usd: f64) -> String {
    if usd == 0.0 || usd >= 0.01 { format!("${usd:.2}") } else { format!("${usd:.6}") }
}
