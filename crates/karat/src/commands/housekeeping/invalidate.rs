//! `karat invalidate`.

use std::collections::BTreeMap;

use karat_app::{Invalidation, ReusableResult, count_noun};
use karat_types::Exit;

use crate::commands::CommandContext;
use crate::failure::Failure;

/// Maximum number of cells that are listed.
const LISTED: usize = 20;

pub fn invalidate(
    context: &CommandContext<'_>,
    run: &str,
    cells: &[String],
    (dry_run, force): (bool, bool),
) -> Result<Exit, Failure> {
    let done = context.app.stored().invalidate(run, cells, dry_run, force)?;
    context.printer.text(&text(&done, dry_run))?;
    if !done.results.kept.is_empty() && !force {
        context.printer.say(&format!(
            "warning: later runs go on using {}, because other runs do: `karat invalidate {run} --force` withdraws them from all \
             later runs",
            counts(&done.results.kept)
        ));
    }
    Ok(Exit::Pass)
}

fn text(done: &Invalidation, dry_run: bool) -> String {
    let verb = if dry_run { "would be invalidated" } else { "invalidated" };
    let users = |result: &ReusableResult, others: &str| {
        let runs: Vec<&str> = result.used_by.iter().map(String::as_str).collect();
        if runs.is_empty() { others.to_owned() } else { format!(" (run {})", runs.join(", ")) }
    };
    let mut text = format!("run {}: {} {verb}\n", done.run, counts(&done.results.gone));
    text.push_str(&list(done, &done.results.gone, |result| users(result, "")));
    if !done.results.kept.is_empty() {
        text.push_str(&format!("kept, because other results use them: {}\n", counts(&done.results.kept)));
        text.push_str(&list(done, &done.results.kept, |result| users(result, " (other cells)")));
    }
    if done.results == karat_app::InvalidatedResults::default() {
        text.push_str(
            "none of these results is cached: they failed, were never reusable, or were invalidated before (results that other \
             runs have made since are kept)\n",
        );
    }
    text.push_str("the rows and reports of the run are kept");
    text
}

fn counts(results: &[ReusableResult]) -> String {
    let judgments = results.iter().filter(|result| result.is_judgment).count() as u64;
    let outputs = results.len() as u64 - judgments;
    format!("{} and {}", count_noun(outputs, "output"), count_noun(judgments, "judgment"))
}

/// Returns a line for each of the first cells and reasons; results that no cell uses come last.
fn list(done: &Invalidation, results: &[ReusableResult], why: impl Fn(&ReusableResult) -> String) -> String {
    let mut lines: BTreeMap<(bool, u64, String), (u64, u64)> = BTreeMap::new();
    for result in results {
        let first = result.cells.first().copied();
        let (outputs, judgments) = lines.entry((first.is_none(), first.unwrap_or_default(), why(result))).or_default();
        *(if result.is_judgment { judgments } else { outputs }) += 1;
    }
    let line = |((nowhere, cell, why), (outputs, judgments)): (&(bool, u64, String), &(u64, u64))| {
        let name = match done.cells.get(cell) {
            Some(name) if !nowhere => format!("cell {cell} {}", karat_app::visible_name(name)),
            _ => "steps that no finished cell uses".to_owned(),
        };
        format!("  {name}: {}, {}{why}\n", count_noun(*outputs, "output"), count_noun(*judgments, "judgment"))
    };
    let more = lines.len().saturating_sub(LISTED);
    let rest = if more > 0 { format!("  and {more} more\n") } else { String::new() };
    lines.iter().take(LISTED).map(line).chain([rest]).collect()
}
