//! `karat dataset split`.

use karat_app::{Existing, SplitRequest};
use karat_types::Exit;

use super::{output, request};
use crate::args::DatasetSplitArgs;
use crate::commands::CommandContext;
use crate::failure::Failure;

pub fn split(context: &CommandContext<'_>, args: &DatasetSplitArgs) -> Result<Exit, Failure> {
    let existing = if args.force { Existing::Replaced } else { Existing::Refused };
    let split = context.app.datasets().split(&SplitRequest {
        rows: request(args.source.name(), &args.rows),
        parts: args.parts.clone(),
        by: args.by.clone(),
        stratify: args.stratify.clone(),
        time: args.time.clone(),
        keep: args.keep.clone(),
        seed: args.seed,
        output: output(&args.output, existing),
    })?;
    match args.json {
        true => context.print_json(&split)?,
        false => context.printer.text(&split.text())?,
    }
    Ok(Exit::Pass)
}
