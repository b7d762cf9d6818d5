//! `karat cache`: what later runs may take over.

use karat_app::count_noun;
use karat_types::Exit;
use serde_json::json;

use super::{Edge, table};
use crate::args::CacheCommand;
use crate::failure::Failure;

pub fn cache(edge: &Edge<'_>, command: &CacheCommand) -> Result<Exit, Failure> {
    match command {
        CacheCommand::Ls { json } => ls(edge, *json)?,
        CacheCommand::Prune { older_than, traces, dry_run } => prune(edge, older_than, *traces, *dry_run)?,
    }
    Ok(Exit::Pass)
}

fn ls(edge: &Edge<'_>, as_json: bool) -> Result<(), Failure> {
    let cached = edge.app.cached()?;
    if as_json {
        let lines = cached.iter().map(|run| {
            let made_at = karat_app::rfc3339(run.started_at);
            json!({ "run": run.run, "started_at": made_at, "outputs": run.outputs, "judgments": run.judgments })
        });
        return edge.json(&lines.collect::<Vec<_>>());
    }
    let rows = cached.iter().map(|run| {
        let made_at = karat_app::rfc3339(run.started_at);
        vec![run.run.clone(), made_at, run.outputs.to_string(), run.judgments.to_string()]
    });
    edge.printer.data(&table(&["run", "started", "outputs", "judgments"], rows))
}

fn prune(edge: &Edge<'_>, older_than: &str, traces: bool, dry_run: bool) -> Result<(), Failure> {
    let Some(age) = karat_app::duration_ms(older_than) else {
        return Err(Failure::Edge(format!("`--older-than {older_than}` is no duration. Write `90d`, `24h` or `20m`")));
    };
    let pruned = edge.app.prune(age, traces, dry_run)?;
    let (taken, removed) = if dry_run { ("would be taken", "would be removed") } else { ("taken", "removed") };
    let kib = |bytes: u64| bytes.div_ceil(1024);
    let mut said =
        format!("{} {taken} out of reuse; runs and their reports stay", count_noun(pruned.results, "result"));
    if traces {
        said.push_str(&format!("; {} KiB of requests and responses {removed}", kib(pruned.trace_bytes)));
    }
    if !dry_run {
        said.push_str(&format!("; {} KiB of disk freed", kib(pruned.freed)));
    }
    edge.printer.data(&said)
}
