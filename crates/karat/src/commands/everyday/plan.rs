//! `karat plan`, and `karat run --dry-run`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use karat_app::{
    Estimate, ModelEstimate, Plan, PlanOption, PlanOptions, ReuseReasons, count, count_noun, estimate_document, usd,
};
use karat_types::{Exit, Money, PlanHeader, Shard};
use serde_json::json;

use super::power;
use crate::args::{ExecutionArgs, SelectionArgs};
use crate::commands::table::table;
use crate::commands::{CommandContext, invocation};
use crate::failure::Failure;

pub fn plan(
    context: &CommandContext<'_>,
    (selection, execution, shard): (&SelectionArgs, &ExecutionArgs, Option<Shard>),
    differences: &[String],
    as_json: bool,
) -> Result<Exit, Failure> {
    let mut invocation = invocation::from_selection(selection, execution)?;
    invocation.overrides.shard = shard;
    let mut plan = context.app.runs().load(&invocation)?;
    if invocation.batch || plan.header.run.batch {
        let split = context.app.runs().price_batches(&mut plan)?;
        context.printer.say(&split);
    }
    if let Some(run) = context.app.runs().run_with_batches(&plan)? {
        context.printer.say(&format!(
            "run {run} has batches of this plan under way: `karat resume {run}` reads them, and a new run is refused"
        ));
    }
    context.print_run_notices(&plan)?;
    context.print_ceiling_note(&plan, &invocation);
    if !context.quiet {
        context.print_warnings(karat_app::dataset_warnings(&plan));
    }
    let estimate = context.app.runs().estimate(&plan)?;
    let reasons = context.app.runs().reasons(&plan)?;
    let options = context.app.runs().options(&plan)?;
    let power = power::compute(context, &plan, differences)?;
    if as_json {
        let mut value = estimate_document(&plan, &estimate, &reasons, &options);
        if let Some(power) = &power {
            value["power"] = json!({ "run": power.run, "metrics": power.metrics });
        }
        context.print_json(&value)?;
    } else {
        let limits = context.app.runs().limits_line(&plan, &estimate, &invocation);
        let table = plan_text(context, &plan, &estimate, &reasons);
        let power = power.as_ref().map_or_else(String::new, |power| format!("\n{}", power::text(power)));
        let options = options_text(context, &options);
        context.printer.text(&format!("{table}\n{limits}{options}{power}"))?;
    }
    Ok(Exit::Pass)
}

fn plan_text(context: &CommandContext<'_>, plan: &Plan, estimate: &Estimate, reasons: &ReuseReasons) -> String {
    let mut text =
        format!("{}\n{}{}", dimensions(&plan.header), shard_line(plan), work(plan.cells(), estimate, reasons));
    // Writing to a String cannot fail.
    if let Some(oldest) = reasons.oldest_reused {
        let _ = writeln!(text, "oldest cached result: {}", karat_app::rfc3339(oldest));
    }
    let (least, most) = estimate.calls();
    let _ = writeln!(text, "calls: {}", range(least, most));
    if !estimate.models.is_empty() {
        let head = ["asked", "role", "calls", "input tokens", "output tokens", "price"];
        text.push_str(&table(context, &head, estimate.models.iter().map(model_row)));
        text.push('\n');
    }
    let (low, high) = estimate.cost();
    let _ = write!(text, "price: {} – {}", usd(Some(low.usd())), usd(Some(high.usd())));
    let unpriced: Vec<&str> = estimate.unpriced_models().collect();
    if !unpriced.is_empty() {
        let _ = write!(text, ", plus the unknown price of {}", unpriced.join(", "));
    }
    if estimate.models.iter().any(|model| model.metered) {
        text.push_str(", plus the cost that services and programs report");
    }
    text.push_str("\n(the upper figures include repeated questions to judges, but no retries; no API call was made)");
    if estimate.is_guess() {
        text.push_str("\na guess: no stored run of this suite tells how long replies are");
        if plan.row_count() > 10 {
            text.push_str("; try `karat run --limit 10`, and `karat plan` goes by what it took");
        }
    }
    text
}

/// Returns the table of the ways to run the plan, if there is another than all of it at once.
fn options_text(context: &CommandContext<'_>, options: &PlanOptions) -> String {
    let there: Vec<&PlanOption> = options.options.iter().filter(|option| option.calls.is_some()).collect();
    if there.len() < 2 {
        return String::new();
    }
    let width = options.metric.as_ref().map_or_else(|| "half width".to_owned(), |metric| format!("± {metric}"));
    let head = ["option", "calls", "price", "hours", &width];
    let rows = there.into_iter().map(|option| {
        let number = |number: Option<f64>| number.map_or_else(|| "unknown".to_owned(), |number| format!("{number:.2}"));
        vec![
            option.option.replace('_', " "),
            option.calls.map_or_else(String::new, |(low, high)| range(low, high)),
            option.usd.map_or_else(String::new, |(low, high)| format!("{} – {}", usd(Some(low)), usd(Some(high)))),
            number(option.hours),
            option.half_width.map_or_else(|| "unknown".to_owned(), |width| format!("{width:.3}")),
        ]
    });
    let basis = match &options.run {
        Some(run) => format!("by run {run}"),
        None => "without a stored run of this suite".to_owned(),
    };
    format!(
        "\n\noptions ({basis}; early stops: least in the median, most in 90 % of simulated runs)\n{}",
        table(context, &head, rows)
    )
}

/// Returns `bench: 30 samples × 2 systems (…) = 60 cells, 1 judge`.
fn dimensions(plan: &PlanHeader) -> String {
    let models: BTreeSet<_> = plan.systems.iter().filter_map(|system| system.model).collect();
    let trials = plan.systems.iter().map(|system| system.trials).max().unwrap_or(1);
    let trials = if trials > 1 { format!(" × {}", count_noun(trials.into(), "trial")) } else { String::new() };
    format!(
        "{}: {} × {} ({}, {}){trials} = {}, {}",
        plan.suite,
        count_noun(plan.dataset.rows, "sample"),
        count_noun(plan.systems.len() as u64, "system"),
        count_noun(models.len() as u64, "model"),
        count_noun(plan.variants.len() as u64, "variant"),
        count_noun(plan.cells(), "cell"),
        count_noun(plan.judges.len() as u64, "judge")
    )
}

/// Returns what a shard is of its plan; nothing for a whole plan.
fn shard_line(plan: &Plan) -> String {
    plan.shard().map_or_else(String::new, |part| {
        let (samples, cells) = (count_noun(part.rows, "sample"), count_noun(plan.cells(), "cell"));
        let paid = match part.shard.count() {
            1 => "",
            _ => "; calls that samples of several shards share are paid once a shard",
        };
        format!("shard {}: {samples}, {cells}{paid}\n", part.shard)
    })
}

/// Returns the lines of cells and judgments.
fn work(cells: u64, estimate: &Estimate, reasons: &ReuseReasons) -> String {
    let some =
        |number: u64, what: &str| if number == 0 { String::new() } else { format!(", {} {what}", count(number)) };
    // Of a large plan the reasons of its first cells are known.
    let of =
        if reasons.cells < cells { format!("of the first {} cells: ", count(reasons.cells)) } else { String::new() };
    let why = |reasons| reason_list(&of, reasons);
    let left_out = some(estimate.left_out, "left out by `only`");
    let failing = some(estimate.failing, "fail before any call");
    format!(
        "cells: {} to run{}, {} cached or recorded, {} skipped by conditions{left_out}{failing}\njudgments: {} to make{}, {} cached\n",
        count(estimate.fresh),
        why(&reasons.outputs),
        count(estimate.reused),
        count(estimate.skipped),
        count(estimate.judgments_fresh),
        why(&reasons.judgments),
        count(estimate.judgments_reused)
    )
}

fn model_row(model: &ModelEstimate) -> Vec<String> {
    let cost = match model.cost {
        Some(_) if model.metered => "known afterwards".to_owned(),
        // What a service or program costs is not free only because nobody says it.
        Some((_, high)) if model.outside && high == Money::ZERO => "none stated".to_owned(),
        Some((low, high)) => format!("{} – {}", usd(Some(low.usd())), usd(Some(high.usd()))),
        None => "unknown".to_owned(),
    };
    let role = match (model.judge, model.outside) {
        (true, _) if model.by_batch => "judge, batch",
        (false, false) if model.by_batch => "model, batch",
        (true, _) => "judge",
        (false, true) => "step",
        (false, false) => "model",
    };
    let asked = match (model.outside, model.id.as_str()) {
        (true, "http") => "services",
        (true, _) => "programs",
        (false, id) => id,
    };
    let tokens = |(low, high): (u64, u64)| if model.outside { String::new() } else { range(low, high) };
    vec![
        asked.to_owned(),
        role.to_owned(),
        range(model.calls.0, model.calls.1),
        tokens(model.input_tokens),
        tokens(model.output_tokens),
        cost,
    ]
}

/// Returns the reasons for which results are not reused, the most frequent first.
fn reason_list(of: &str, reasons: &BTreeMap<String, u64>) -> String {
    let mut reasons: Vec<(&String, &u64)> = reasons.iter().collect();
    reasons.sort_by_key(|(_, cells)| std::cmp::Reverse(**cells));
    let reasons: Vec<String> = reasons.iter().map(|(reason, cells)| format!("{} {reason}", count(**cells))).collect();
    if reasons.is_empty() { String::new() } else { format!(" ({of}{})", reasons.join(", ")) }
}

fn range(low: u64, high: u64) -> String {
    if low == high { count(low) } else { format!("{} – {}", count(low), count(high)) }
}
