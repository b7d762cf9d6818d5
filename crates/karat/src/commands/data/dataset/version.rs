//! `karat dataset version`.

use karat_types::Exit;

use super::rows_of;
use crate::args::DatasetVersionArgs;
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
