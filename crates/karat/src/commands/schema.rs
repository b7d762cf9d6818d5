//! `karat schema`.

use karat_types::Exit;

use super::Edge;
use crate::args::{SchemaArg, SchemaArgs};
use crate::failure::Failure;
use crate::help;

pub fn schema(edge: &Edge<'_>, args: &SchemaArgs) -> Result<Exit, Failure> {
    let text = match args.name {
        SchemaArg::Suite => karat_app::suite_schema(),
        SchemaArg::Report => karat_app::report_schema(),
        SchemaArg::Commands => help::commands(),
        SchemaArg::Environment => help::environment(),
    };
    edge.printer.data(&text)?;
    Ok(Exit::Pass)
}
