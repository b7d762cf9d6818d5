//! `karat validate`.

use karat_app::count_noun;
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
    let parts = [
        (header.dataset.rows, "sample"),
        (header.systems.len() as u64, "system"),
        (header.cells(), "cell"),
        (header.scorers.len() as u64, "scorer"),
        (header.judges.len() as u64, "judge"),
    ];
    let parts = parts.map(|(count, what)| count_noun(count, what)).join(", ");
    edge.printer.data(&format!("{}: fine. {parts}", header.suite))?;
    Ok(Exit::Pass)
}
