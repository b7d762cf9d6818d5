//! `karat dataset version`, `diff` and `describe`: what a set is, and what changed in it.

use std::path::PathBuf;

use karat_app::{DatasheetRequest, RowDifference, count_noun};
use karat_types::Exit;

use super::rows_of;
use crate::args::{DatasetDescribeArgs, DatasetDiffArgs, DatasetVersionArgs, RowDifferenceArg};
use crate::commands::CommandContext;
use crate::failure::Failure;

pub fn version(context: &CommandContext<'_>, args: &DatasetVersionArgs) -> Result<Exit, Failure> {
    let rows = rows_of(args.source.name(), &args.columns);
    if let (Some(version), Some(line)) = (&args.set, &args.note) {
        let recorded = context.app.datasets().record_version(&rows, version, line)?;
        context.printer.say(&recorded.text(version));
    }
    let found = context.app.datasets().version(&rows)?;
    match args.json {
        true => context.printer.data(&karat_app::escape_json(&found.json()))?,
        false => context.printer.text(&found.text())?,
    }
    found.check()?;
    Ok(Exit::Pass)
}

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

pub fn describe(context: &CommandContext<'_>, args: &DatasetDescribeArgs) -> Result<Exit, Failure> {
    let asked = DatasheetRequest {
        rows: rows_of(args.source.name(), &args.columns),
        by: args.by.clone(),
        output: args.output.as_ref().map(PathBuf::from),
    };
    if args.output.as_deref() == Some("-") {
        let text = context.app.datasets().datasheet(&asked, None)?.unwrap_or_default();
        context.printer.data(&text)?;
        return Ok(Exit::Pass);
    }
    let written = context.app.datasets().write_datasheet(&asked)?;
    let sections = count_noun(written.unwritten.len() as u64, "section");
    let open = match written.unwritten.as_slice() {
        [] => "every section is written".to_owned(),
        open => format!("{sections} to write: {}", open.join(", ")),
    };
    context.printer.data(&format!("{}: {open}", written.path.display()))?;
    Ok(Exit::Pass)
}
