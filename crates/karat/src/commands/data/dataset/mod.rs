//! `karat dataset`.
//!
//! - here: `fetch`, and `check` of a dataset's rules; `leaks`: `check --leaks` and `--against`
//! - `made_sets`: `sample`, `dedup`, `split`
//! - `versions`: `version`, `diff`, and `describe`, the datasheet; `items`: what runs know of each item

mod items;
mod leaks;
mod made_sets;
mod versions;

use std::path::Path;

use karat_app::{DatasetOutput, DatasetRequest, Existing, count_noun};
use karat_types::Exit;

use crate::args::{ColumnArgs, DatasetCommand, ExecutionArgs, SelectionArgs, SourceRowsArgs};
use crate::commands::{CommandContext, invocation};
use crate::failure::Failure;

pub fn dataset(context: &CommandContext<'_>, command: &DatasetCommand) -> Result<Exit, Failure> {
    match command {
        DatasetCommand::Fetch(selection) => fetch(context, selection),
        DatasetCommand::Check(args) if args.leaks || args.against.is_some() => leaks::leaks(context, args),
        DatasetCommand::Check(args) => check(context, &args.selection),
        DatasetCommand::Sample(args) => made_sets::sample(context, args),
        DatasetCommand::Dedup(args) => made_sets::dedup(context, args),
        DatasetCommand::Split(args) => made_sets::split(context, args),
        DatasetCommand::Version(args) => versions::version(context, args),
        DatasetCommand::Diff(args) => versions::diff(context, args),
        DatasetCommand::Items(args) => items::items(context, args),
        DatasetCommand::Describe(args) => versions::describe(context, args),
    }
}

/// The request for the rows of a source with columns of these names.
fn rows_of(source: &str, columns: &ColumnArgs) -> DatasetRequest {
    let ColumnArgs { id, input, reference } = columns.clone();
    DatasetRequest { id, input, reference, ..DatasetRequest::of(source) }
}

/// The request for those of the rows that meet a condition.
fn request(source: &str, rows: &SourceRowsArgs) -> DatasetRequest {
    DatasetRequest { condition: rows.condition.clone(), ..rows_of(source, &rows.columns) }
}

/// The place of an output. The arguments that follow the command's name go into the manifest as they were given.
fn output(path: &Path, existing: Existing) -> DatasetOutput {
    let arguments = std::env::args().skip_while(|argument| argument != "dataset").skip(2).collect();
    DatasetOutput { path: path.to_owned(), existing, arguments }
}

/// Checks a suite's dataset, and prints the counts of each rule.
fn check(context: &CommandContext<'_>, selection: &SelectionArgs) -> Result<Exit, Failure> {
    let invocation = invocation::from_selection(selection, &ExecutionArgs::default())?;
    let (rows, checks) = context.app.project().dataset_checks(&invocation)?;
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
    let fetched = context.app.project().fetch(&invocation, &mut |one| match &one.outcome {
        Ok(bytes) => context.printer.say(&format!("{}: {bytes} bytes", one.path)),
        Err(problem) => context.printer.say(&format!("{}: {problem}", one.path)),
    })?;
    let failed = fetched.iter().filter(|one| one.outcome.is_err()).count();
    context
        .printer
        .data(&format!("{} fetched, {failed} failed", count_noun((fetched.len() - failed) as u64, "file")))?;
    Ok(if failed > 0 { Exit::HarnessError } else { Exit::Pass })
}
