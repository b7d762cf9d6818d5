//! `karat dataset sample`.

use karat_app::{Existing, SampleMethod, SampleRequest};
use karat_types::Exit;

use super::{output, request};
use crate::args::{DatasetSampleArgs, SampleMethodArg};
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
