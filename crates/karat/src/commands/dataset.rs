//! `karat dataset`.

use karat_app::count_noun;
use karat_types::Exit;

use super::{Edge, selection};
use crate::args::{ExecutionArgs, SuiteArgs};
use crate::failure::Failure;

/// Checks a suite's dataset, and says what each of its rules counted.
pub fn check(edge: &Edge<'_>, suite: &SuiteArgs) -> Result<Exit, Failure> {
    let invocation = selection::invocation(suite, &ExecutionArgs::default())?;
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
    edge.printer.data(&format!(
        "{}, {}: all hold",
        count_noun(rows, "row"),
        count_noun(checks.len() as u64, "rule")
    ))?;
    Ok(Exit::Pass)
}

/// Makes the absent files of a suite's columns.
pub fn fetch(edge: &Edge<'_>, suite: &SuiteArgs) -> Result<Exit, Failure> {
    let invocation = selection::invocation(suite, &ExecutionArgs::default())?;
    let fetched = edge.app.fetch(&invocation, &mut |one| match &one.outcome {
        Ok(bytes) => edge.printer.say(&format!("{}: {bytes} bytes", one.path)),
        Err(problem) => edge.printer.say(&format!("{}: {problem}", one.path)),
    })?;
    let failed = fetched.iter().filter(|one| one.outcome.is_err()).count();
    edge.printer.data(&format!("{} fetched, {failed} failed", count_noun((fetched.len() - failed) as u64, "file")))?;
    Ok(if failed > 0 { Exit::HarnessError } else { Exit::Pass })
}
