//! `karat dataset diff`.

use karat_app::RowDifference;
use karat_types::Exit;

use super::rows_of;
use crate::args::{DatasetDiffArgs, RowDifferenceArg};
use crate::commands::CommandContext;
use crate::failure::Failure;

pub fn diff(context: &CommandContext<'_>, args: &DatasetDiffArgs) -> Result<Exit, Failure> {
    let sides = [&args.before, &args.after].map(|source| rows_of(source, &args.columns));
    let found = context.app.datasets().difference(&sides, args.rows)?;
    match args.json {
        true => context.printer.data(&karat_app::escape_json(&found.json()?))?,
        false => context.printer.text(&found.text())?,
    }
    let kind = |arg: &RowDifferenceArg| match arg {
        RowDifferenceArg::Added => RowDifference::Added,
        RowDifferenceArg::Removed => RowDifference::Removed,
        RowDifferenceArg::Changed => RowDifference::Changed,
    };
    let fails = args.fail_on.iter().any(|arg| found.has(kind(arg)));
    Ok(if fails { Exit::GateFailed } else { Exit::Pass })
}
