//! `karat validate`.

use karat_app::count_noun;
use karat_types::Exit;

use crate::args::{ExecutionArgs, SelectionArgs};
use crate::commands::{CommandContext, invocation};
use crate::failure::Failure;

pub fn validate(context: &CommandContext<'_>, selection: &SelectionArgs) -> Result<Exit, Failure> {
    let invocation = invocation::from_selection(selection, &ExecutionArgs::default())?;
    let plan = context.app.project().validate(&invocation)?;
    context.print_notices(&plan);
    if !context.quiet {
        context.print_warnings(context.app.runs().readiness(&plan));
        context.print_warnings(context.app.datasets().datasheet_gaps(&invocation.suite, &plan));
        context.print_warnings(karat_app::dataset_warnings(&plan));
    }
    let header = &plan.header;
    let parts = [
        (header.dataset.rows, "sample"),
        (header.systems.len() as u64, "system"),
        (header.cells(), "cell"),
        (header.scorers.len() as u64, "scorer"),
        (header.judges.len() as u64, "judge"),
    ];
    let parts = parts.map(|(count, what)| count_noun(count, what)).join(", ");
    context.printer.text(&format!("{}: valid; {parts}", header.suite))?;
    Ok(Exit::Pass)
}
