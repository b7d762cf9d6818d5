//! `karat validate`.

use karat_types::Exit;

use super::{Edge, selection};
use crate::args::{ExecutionArgs, SuiteArgs};
use crate::failure::Failure;

pub fn validate(edge: &Edge<'_>, suite: &SuiteArgs) -> Result<Exit, Failure> {
    let invocation = selection::invocation(suite, &ExecutionArgs::default())?;
    let loaded = edge.app.load(&invocation)?;
    edge.notices(&loaded.plan);
    for missing in edge.app.readiness(&loaded.plan).iter().filter(|_| !edge.quiet) {
        edge.printer.say(&format!("warning: {missing}"));
    }
    let header = &loaded.plan.header;
    edge.printer.data(&format!(
        "{}: fine. {} samples, {} systems, {} cells, {} scorers, {} judges",
        header.suite,
        header.dataset.rows,
        header.systems.len(),
        header.cells(),
        header.scorers.len(),
        header.judges.len()
    ))?;
    Ok(Exit::Pass)
}
