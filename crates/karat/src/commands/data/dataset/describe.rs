//! `karat dataset describe`.

use std::path::PathBuf;

use karat_app::{DatasheetRequest, count_noun};
use karat_types::Exit;

use super::rows_of;
use crate::args::DatasetDescribeArgs;
use crate::commands::CommandContext;
use crate::failure::Failure;

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
