//! `karat cache`: results that later runs may reuse.

use karat_app::count_noun;
use karat_types::Exit;
use serde_json::json;

use crate::args::CacheCommand;
use crate::commands::CommandContext;
use crate::commands::table::table;
use crate::failure::Failure;

pub fn cache(context: &CommandContext<'_>, command: &CacheCommand) -> Result<Exit, Failure> {
    match command {
        CacheCommand::Ls { json } => ls(context, *json)?,
        CacheCommand::Prune { older_than, traces, dry_run } => prune(context, older_than, *traces, *dry_run)?,
    }
    Ok(Exit::Pass)
}

fn ls(context: &CommandContext<'_>, as_json: bool) -> Result<(), Failure> {
    let cached = context.app.stored().cached_results()?;
    if as_json {
        let lines = cached.iter().map(|run| {
            let made_at = karat_app::rfc3339(run.started_at);
            json!({ "run": run.run, "started_at": made_at, "outputs": run.outputs, "judgments": run.judgments })
        });
        return context.print_json(&lines.collect::<Vec<_>>());
    }
    let rows = cached.iter().map(|run| {
        let made_at = karat_app::rfc3339(run.started_at);
        vec![run.run.clone(), made_at, run.outputs.to_string(), run.judgments.to_string()]
    });
    context.printer.text(&table(context, &["run", "started", "outputs", "judgments"], rows))
}

fn prune(context: &CommandContext<'_>, older_than: &str, traces: bool, dry_run: bool) -> Result<(), Failure> {
    let Some(age) = karat_app::duration_ms(older_than) else {
        return Err(Failure::Message(format!(
            "`--older-than {older_than}` is not a duration. Write `90d`, `24h` or `20m`"
        )));
    };
    let pruned = context.app.stored().prune(age, traces, dry_run)?;
    let (invalidated, removed) =
        if dry_run { ("would be invalidated", "would be removed") } else { ("invalidated", "removed") };
    let kib = |bytes: u64| bytes.div_ceil(1024);
    let results = count_noun(pruned.results, "result");
    let mut text = format!("{results} {invalidated}; runs and their reports are kept");
    if traces {
        text.push_str(&format!("; {} KiB of requests and responses {removed}", kib(pruned.trace_bytes)));
    }
    if let Some(bytes) = pruned.room_to_shrink {
        let mib = bytes.div_ceil(1 << 20);
        text.push_str(&format!(
            "; the file keeps its size, since making it smaller needs {mib} MiB of free disk space (prune again then); \
             later runs write into the room inside it"
        ));
    } else if !dry_run {
        text.push_str(&format!("; {} KiB of disk space freed", kib(pruned.freed)));
    }
    context.printer.text(&text)
}
