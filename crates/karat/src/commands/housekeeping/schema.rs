//! `karat schema`.

use karat_types::Exit;

use crate::args::{SchemaArg, SchemaArgs};
use crate::commands::CommandContext;
use crate::failure::Failure;
use crate::help;

pub fn schema(context: &CommandContext<'_>, args: &SchemaArgs) -> Result<Exit, Failure> {
    let text = match args.name {
        SchemaArg::Suite => karat_app::suite_schema(),
        SchemaArg::Report => karat_app::report_schema(),
        SchemaArg::Commands => help::commands(),
        SchemaArg::Environment => help::environment(),
    };
    context.printer.data(&text)?;
    Ok(Exit::Pass)
}
