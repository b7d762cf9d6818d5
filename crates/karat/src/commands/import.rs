//! `karat import`.

use karat_types::Exit;

use super::Edge;
use crate::args::{ImportArg, ImportArgs};
use crate::failure::Failure;

pub fn import(edge: &Edge<'_>, args: &ImportArgs) -> Result<Exit, Failure> {
    let imported = match args.kind {
        ImportArg::SpanSnapshot => edge.app.import_span_snapshot(&args.file, &args.output_dir)?,
    };
    let suite = imported.suite.display();
    edge.printer.say(&format!(
        "{} samples, {} without a verdict. `karat run {suite}` computes their figures.",
        imported.samples, imported.without_verdict
    ));
    edge.printer.data(&suite.to_string())?;
    Ok(Exit::Pass)
}
