//! `karat ls`.

use karat_app::{MetricLine, RunLine, usd};
use karat_types::Exit;

use crate::args::LsArgs;
use crate::commands::CommandContext;
use crate::commands::table::table;
use crate::failure::Failure;

pub fn ls(context: &CommandContext<'_>, args: &LsArgs) -> Result<Exit, Failure> {
    if let Some(metric) = &args.metric {
        return print_metric(context, metric, args);
    }
    let mut runs = context.app.views().runs(if args.suite.is_some() { usize::MAX } else { args.limit })?;
    runs.retain(|run| args.suite.as_ref().is_none_or(|suite| *suite == run.suite));
    runs.truncate(args.limit);
    if args.json {
        context.print_json(&runs)?;
        return Ok(Exit::Pass);
    }
    if runs.is_empty() {
        context.printer.say("no runs: `karat run` makes one");
    }
    let rows = runs.iter().map(|run| {
        vec![
            run.id.clone(),
            run.suite.clone(),
            status(run),
            format!("{}/{}", run.cells, run.planned),
            run.errors.to_string(),
            run.verdict.clone().unwrap_or_default(),
            run.metric
                .as_ref()
                .zip(run.value)
                .map_or_else(String::new, |(metric, value)| format!("{metric} {}", run.scale.text(value))),
            cost(run),
            run.started_at.get(..16).unwrap_or(&run.started_at).replace('T', " "),
            run.notes.join(" · "),
        ]
    });
    let heads = ["run", "suite", "status", "cells", "errors", "verdict", "metric", "cost", "started (UTC)", "notes"];
    context.printer.text(&table(context, &heads, rows))?;
    Ok(Exit::Pass)
}

/// The status; a run whose batches go on without a process was not cut off.
fn status(run: &RunLine) -> String {
    let status = if run.batches > 0 && run.status == "interrupted" { "in batches" } else { &run.status };
    run.shard.map_or_else(|| status.to_owned(), |shard| format!("{status}, shard {shard}"))
}

fn cost(run: &RunLine) -> String {
    if run.simulated { "simulated".to_owned() } else { usd(run.cost_usd) }
}

/// Prints one metric over the runs.
fn print_metric(context: &CommandContext<'_>, metric: &str, args: &LsArgs) -> Result<Exit, Failure> {
    let lines = context.app.views().metric_history(metric, args.suite.as_deref(), args.limit)?;
    if args.json {
        context.print_json(&lines)?;
        return Ok(Exit::Pass);
    }
    let heads = ["run", "started", "n", metric, "interval", "min", "median", "max", "sd"];
    context.printer.text(&table(context, &heads, lines.iter().map(metric_row)))?;
    Ok(Exit::Pass)
}

fn metric_row(line: &MetricLine) -> Vec<String> {
    let (spread, scale) = (&line.spread, &line.scale);
    let number = |value: Option<f64>| scale.text_or_none(value);
    let interval = spread.figure().and_then(|figure| figure.interval());
    let interval =
        interval.map_or_else(|| number(None), |(lo, hi)| format!("{} to {}", scale.text(lo), scale.text(hi)));
    let run = if line.finished { line.id.clone() } else { format!("{} (unfinished)", line.id) };
    let numbers = [spread.min(), spread.median(), spread.max(), spread.stddev()].map(number);
    [run, line.started_at.clone(), spread.n().to_string(), number(spread.value()), interval]
        .into_iter()
        .chain(numbers)
        .collect()
}
