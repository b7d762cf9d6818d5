//! The estimate of a run as JSON: what `karat plan --json` prints and `POST /eval/plan` answers.

use karat_engine::{Estimate, ModelEstimate};
use karat_suite::Plan;
use serde_json::{Value, json};

use crate::rfc3339;
use crate::runs::options::plan_options::PlanOptions;
use crate::runs::why::ReuseReasons;

/// The document of an estimate. Its keys are a public interface: keys may be added, none changes its meaning.
pub fn estimate_document(planned: &Plan, estimate: &Estimate, reasons: &ReuseReasons, options: &PlanOptions) -> Value {
    let plan = &planned.header;
    let (least, most) = estimate.calls();
    let (low, high) = estimate.cost();
    let mut document = json!({
        "suite": plan.suite,
        "plan_hash": plan.plan_hash,
        "samples": planned.row_count(),
        "systems": plan.systems.len(),
        "judges": plan.judges.len(),
        "cells": {
            "planned": planned.cells(),
            "fresh": estimate.fresh,
            "reused": estimate.reused,
            "skipped": estimate.skipped,
            "left_out": estimate.left_out,
            "failing": estimate.failing,
        },
        "judgments": { "fresh": estimate.judgments_fresh, "reused": estimate.judgments_reused },
        "reasons": {
            "cells": reasons.cells,
            "outputs": reasons.outputs,
            "judgments": reasons.judgments,
            "oldest_reused": reasons.oldest_reused.map(rfc3339),
        },
        "calls": [least, most],
        "cost_usd": [low.usd(), high.usd()],
        "unpriced": estimate.unpriced_models().collect::<Vec<_>>(),
        "models": estimate.models.iter().map(model_document).collect::<Vec<_>>(),
        "options": options.options,
        "options_basis": { "metric": options.metric, "run": options.run },
    });
    if let (Some(part), Some(keys)) = (planned.shard(), document.as_object_mut()) {
        keys.insert("shard".to_owned(), json!(part.shard));
    }
    document
}

fn model_document(model: &ModelEstimate) -> Value {
    json!({
        "id": model.id,
        "judge": model.judge,
        "calls": [model.calls.0, model.calls.1],
        "input_tokens": [model.input_tokens.0, model.input_tokens.1],
        "output_tokens": [model.output_tokens.0, model.output_tokens.1],
        "cost_usd": model.cost.filter(|_| !model.metered).map(|(low, high)| [low.usd(), high.usd()]),
        "metered": model.metered,
    })
}
