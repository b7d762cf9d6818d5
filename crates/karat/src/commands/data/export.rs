//! `karat export`.

use std::path::Path;

use karat_app::{AtomicFile, Format, Outputs};
use karat_types::Exit;

use crate::args::{ExportArgs, ExportFormatArg};
use crate::commands::CommandContext;
use crate::failure::Failure;

pub fn export(context: &CommandContext<'_>, args: &ExportArgs) -> Result<Exit, Failure> {
    let format = match args.kind {
        ExportFormatArg::Jsonl => Format::Cells,
        ExportFormatArg::Csv => Format::Csv,
        ExportFormatArg::Junit => Format::Junit,
    };
    if args.output == "-" {
        context.printer.stream(|out| context.app.export(&args.run, format, Outputs::default(), false, out))?;
        return Ok(Exit::Pass);
    }
    let unwritable = |error: std::io::Error| {
        Failure::Message(format!("writing {}: {error}. Name another file with `-o`", args.output))
    };
    let mut out = AtomicFile::create(Path::new(&args.output)).map_err(unwritable)?;
    context.app.export(&args.run, format, Outputs::default(), false, &mut out)?;
    out.finish().map_err(unwritable)?;
    Ok(Exit::Pass)
}
