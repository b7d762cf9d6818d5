//! `karat dataset`.

use karat_app::counted;
use karat_types::Exit;

use super::{Edge, selection};
use crate::args::{DatasetCommand, ExecutionArgs, SelectionArgs};
use crate::failure::Failure;

pub fn dataset(edge: &Edge<'_>, command: &DatasetCommand) -> Result<Exit, Failure> {
    match command {
        DatasetCommand::Fetch(selection) => fetch(edge, selection),
        DatasetCommand::Check(selection) => check(edge, selection),
    }
}

/// Checks a suite's dataset, and says what each of its rules counted.
fn check(edge: &Edge<'_>, selection: &SelectionArgs) -> Result<Exit, Failure> {
    let invocation = selection::invocation(selection, &ExecutionArgs::default())?;
    let (rows, checks) = edge.app.dataset_checks(&invocation)?;
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
        edge.printer.data(&super::visible(&line))?;
    }
    edge.printer.data(&format!("{}, {}: all hold", counted(rows, "row"), counted(checks.len() as u64, "rule")))?;
    Ok(Exit::Pass)
}

/// Makes the absent files of a suite's columns.
fn fetch(edge: &Edge<'_>, selection: &SelectionArgs) -> Result<Exit, Failure> {
    let invocation = selection::invocation(selection, &ExecutionArgs::default())?;
    let fetched = edge.app.fetch(&invocation, &mut |one| match &one.outcome {
        Ok(bytes) => edge.printer.say(&format!("{}: {bytes} bytes", one.path)),
        Err(problem) => edge.printer.say(&format!("{}: {problem}", one.path)),
    })?;
    let failed = fetched.iter().filter(|one| one.outcome.is_err()).count();
    edge.printer.data(&format!("{} fetched, {failed} failed", counted((fetched.len() - failed) as u64, "file")))?;
    Ok(if failed > 0 { Exit::HarnessError } else { Exit::Pass })
}
