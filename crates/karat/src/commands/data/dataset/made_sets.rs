//! `karat dataset sample`, `dedup` and `split`: sets that are made from other sets.

use karat_app::{DedupRequest, Existing, KeptRow, SampleMethod, SampleRequest, SplitRequest};
use karat_types::Exit;

use super::{output, request};
use crate::args::{DatasetDedupArgs, DatasetSampleArgs, DatasetSplitArgs, KeptRowArg, SampleMethodArg};
use crate::commands::CommandContext;
use crate::failure::Failure;

pub fn sample(context: &CommandContext<'_>, args: &DatasetSampleArgs) -> Result<Exit, Failure> {
    let existing = if args.force { Existing::Replaced } else { Existing::Refused };
    let method = match (args.how, &args.by) {
        (SampleMethodArg::Stratified, Some(by)) => {
            SampleMethod::Stratified { by: by.clone(), allocation: args.alloc.clone() }
        }
        (_, Some(_)) => return Err(Failure::Message("`--by` needs `--how stratified`".to_owned())),
        (SampleMethodArg::Diverse, None) => SampleMethod::Diverse,
        (SampleMethodArg::Random | SampleMethodArg::Stratified, None) => SampleMethod::Random,
    };
    let drawn = context.app.datasets().sample(&SampleRequest {
        rows: request(args.source.name(), &args.rows),
        n: args.n,
        method,
        seed: args.seed,
        output: output(&args.output, existing),
    })?;
    match args.json {
        true => context.print_json(&drawn)?,
        false => context.printer.text(&drawn.text())?,
    }
    Ok(Exit::Pass)
}

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
