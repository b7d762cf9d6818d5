//! `karat schema`.

use karat_types::Exit;

use super::Edge;
use crate::args::{SchemaArg, SchemaArgs};
use crate::failure::Failure;

pub fn schema(edge: &Edge<'_>, args: &SchemaArgs) -> Result<Exit, Failure> {
    let schema = match args.name {
        SchemaArg::Suite => karat_app::suite_schema(),
        SchemaArg::Report => karat_app::report_schema(),
    };
    edge.printer.data(&schema)?;
    Ok(Exit::Pass)
}
