//! `karat invalidate`.

use std::collections::BTreeMap;

use karat_app::{Invalidation, Reusable};
use karat_types::Exit;

use super::{Edge, visible};
use crate::failure::Failure;

pub fn invalidate(edge: &Edge<'_>, run: &str, cells: &[String], dry_run: bool) -> Result<Exit, Failure> {
    let done = edge.app.invalidate(run, cells, dry_run)?;
    edge.printer.data(&text(&done, dry_run))?;
    Ok(Exit::Pass)
}

fn text(done: &Invalidation, dry_run: bool) -> String {
    let verb = if dry_run { "would be taken" } else { "taken" };
    let (outputs, judgments) = kinds(&done.results.gone);
    let mut text = format!("run {}: {outputs} outputs and {judgments} judgments {verb} out of reuse\n", done.run);
    text.push_str(&list(done, &done.results.gone, |_| String::new()));
    if !done.results.kept.is_empty() {
        let (outputs, judgments) = kinds(&done.results.kept);
        text.push_str(&format!("kept, because others rest on it: {outputs} outputs and {judgments} judgments\n"));
        text.push_str(&list(done, &done.results.kept, |result| {
            let runs: Vec<&str> = result.used_by.iter().map(String::as_str).collect();
            if runs.is_empty() { " (other cells)".to_owned() } else { format!(" (run {})", runs.join(", ")) }
        }));
    }
    if done.results == karat_app::Withdrawal::default() {
        text.push_str(
            "Nothing of what was asked for is in reuse: it failed, was never reusable, or was taken out before.\n",
        );
    }
    text.push_str("The run's rows and reports stay.");
    text
}

fn kinds(results: &[Reusable]) -> (usize, usize) {
    let judgments = results.iter().filter(|result| result.is_judgment).count();
    (results.len() - judgments, judgments)
}

/// One line a cell and reason; what no cell rests on stands last.
fn list(done: &Invalidation, results: &[Reusable], why: impl Fn(&Reusable) -> String) -> String {
    let mut lines: BTreeMap<(bool, u64, String), (usize, usize)> = BTreeMap::new();
    for result in results {
        let first = result.cells.first().copied();
        let (outputs, judgments) = lines.entry((first.is_none(), first.unwrap_or_default(), why(result))).or_default();
        *(if result.is_judgment { judgments } else { outputs }) += 1;
    }
    let line = |((nowhere, cell, why), (outputs, judgments)): (&(bool, u64, String), &(usize, usize))| {
        let name = match done.cells.get(cell) {
            Some(name) if !nowhere => format!("cell {cell} {}", visible(name)),
            _ => "steps that no finished cell rests on".to_owned(),
        };
        format!("  {name}: {outputs} outputs, {judgments} judgments{why}\n")
    };
    lines.iter().map(line).collect()
}
