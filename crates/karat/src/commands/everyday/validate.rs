//! `karat validate`.

use karat_app::counted;
use karat_types::Exit;

use crate::args::{ExecutionArgs, SelectionArgs};
use crate::commands::{CommandContext, invocation};
use crate::failure::Failure;

pub fn validate(context: &CommandContext<'_>, suite: &SelectionArgs) -> Result<Exit, Failure> {
    let invocation = invocation::invocation(suite, &ExecutionArgs::default())?;
    let loaded = context.app.load(&invocation)?;
    context.print_notices(&loaded.plan);
    for missing in context.app.readiness(&loaded.plan).iter().filter(|_| !context.quiet) {
        context.printer.say(&format!("warning: {missing}"));
    }
    let header = &loaded.plan.header;
    let parts = [
        (header.dataset.rows, "sample"),
        (header.systems.len() as u64, "system"),
        (header.cells(), "cell"),
        (header.scorers.len() as u64, "scorer"),
        (header.judges.len() as u64, "judge"),
    ];
    let parts = parts.map(|(count, what)| counted(count, what)).join(", ");
    context.printer.data(&format!("{}: fine. {parts}", header.suite))?;
    Ok(Exit::Pass)
}
