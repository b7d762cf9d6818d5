//! `karat dataset`: a file for each command.
//!
//! - here: `fetch` and `check`, which read a suite's dataset
//! - `version`, `diff`: what changed; `items`: what runs know of each item; `describe`: the datasheet

mod describe;
mod diff;
mod items;
mod version;

use karat_app::{DatasetRequest, count_noun};
use karat_types::Exit;

use crate::args::{ColumnArgs, DatasetCommand, ExecutionArgs, SelectionArgs};
use crate::commands::{CommandContext, invocation};
use crate::failure::Failure;

pub fn dataset(context: &CommandContext<'_>, command: &DatasetCommand) -> Result<Exit, Failure> {
    match command {
        DatasetCommand::Fetch(selection) => fetch(context, selection),
        DatasetCommand::Check(selection) => check(context, selection),
        DatasetCommand::Version(args) => version::version(context, args),
        DatasetCommand::Diff(args) => diff::diff(context, args),
        DatasetCommand::Items(args) => items::items(context, args),
        DatasetCommand::Describe(args) => describe::describe(context, args),
    }
}

/// The request for the rows of a source with columns of these names.
fn rows_of(source: &str, columns: &ColumnArgs) -> DatasetRequest {
    let ColumnArgs { id, input, reference } = columns.clone();
    DatasetRequest { id, input, reference, ..DatasetRequest::of(source) }
}

/// Checks a suite's dataset, and prints the counts of each rule.
fn check(context: &CommandContext<'_>, selection: &SelectionArgs) -> Result<Exit, Failure> {
    let invocation = invocation::from_selection(selection, &ExecutionArgs::default())?;
    let (rows, checks) = context.app.dataset_checks(&invocation)?;
    for check in &checks {
        let bounds = [("at least", check.min), ("at most", check.max)];
        let wanted: Vec<String> =
            bounds.iter().filter_map(|(word, bound)| Some(format!("{word} {}", (*bound)?))).collect();
        let counts: Vec<String> = check
            .counts
            .iter()
            .map(|(group, n)| if group.is_empty() { n.to_string() } else { format!("{group} {n}") })
            .collect();
        let line = format!("ok  {}: {} ({})", check.name, counts.join(", "), wanted.join(", "));
        context.printer.text(&line)?;
    }
    let (rows, rules) = (count_noun(rows, "row"), count_noun(checks.len() as u64, "rule"));
    context.printer.text(&format!("{rows}, {rules}: all passed"))?;
    Ok(Exit::Pass)
}

/// Creates the missing files of a suite's columns.
fn fetch(context: &CommandContext<'_>, selection: &SelectionArgs) -> Result<Exit, Failure> {
    let invocation = invocation::from_selection(selection, &ExecutionArgs::default())?;
    let fetched = context.app.fetch(&invocation, &mut |one| match &one.outcome {
        Ok(bytes) => context.printer.say(&format!("{}: {bytes} bytes", one.path)),
        Err(problem) => context.printer.say(&format!("{}: {problem}", one.path)),
    })?;
    let failed = fetched.iter().filter(|one| one.outcome.is_err()).count();
    context
        .printer
        .data(&format!("{} fetched, {failed} failed", count_noun((fetched.len() - failed) as u64, "file")))?;
    Ok(if failed > 0 { Exit::HarnessError } else { Exit::Pass })
}
