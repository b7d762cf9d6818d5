//! `karat dataset dedup`.

use karat_app::{DedupRequest, Existing, KeptRow};
use karat_types::Exit;

use super::{output, request};
use crate::args::{DatasetDedupArgs, KeptRowArg};
use crate::commands::CommandContext;
use crate::failure::Failure;

pub fn dedup(context: &CommandContext<'_>, args: &DatasetDedupArgs) -> Result<Exit, Failure> {
    let existing = if args.force { Existing::Replaced } else { Existing::Refused };
    let report = context.app.datasets().dedup(&DedupRequest {
        rows: request(args.source.name(), &args.rows),
        at: args.at,
        keep: match args.keep {
            KeptRowArg::First => KeptRow::First,
            KeptRowArg::Longest => KeptRow::Longest,
            KeptRowArg::Labelled => KeptRow::Labelled,
        },
        output: args.output.as_ref().map(|path| output(path, existing)),
    })?;
    match args.json {
        true => context.print_json(&report)?,
        false => context.printer.text(&report.text())?,
    }
    Ok(Exit::Pass)
}
