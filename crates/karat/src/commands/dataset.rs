//! `karat dataset`.

use karat_types::Exit;

use super::{Edge, selection};
use crate::args::{ExecutionArgs, SuiteArgs};
use crate::failure::Failure;

/// Makes the absent files of a suite's columns.
pub fn fetch(edge: &Edge<'_>, suite: &SuiteArgs) -> Result<Exit, Failure> {
    let invocation = selection::invocation(suite, &ExecutionArgs::default())?;
    let fetched = edge.app.fetch(&invocation, &mut |one| match &one.outcome {
        Ok(bytes) => edge.printer.say(&format!("{}: {bytes} bytes", one.path)),
        Err(problem) => edge.printer.say(&format!("{}: {problem}", one.path)),
    })?;
    let failed = fetched.iter().filter(|one| one.outcome.is_err()).count();
    edge.printer.data(&format!("{} files fetched, {failed} failed", fetched.len() - failed))?;
    Ok(if failed > 0 { Exit::HarnessError } else { Exit::Pass })
}
