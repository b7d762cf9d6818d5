//! `karat export`.

use std::path::Path;

use karat_app::{AtomicFile, ExportedFiles, Format, Outputs, count_noun};
use karat_types::Exit;

use crate::args::{ExportArgs, ExportFormatArg};
use crate::commands::CommandContext;
use crate::failure::Failure;

pub fn export(context: &CommandContext<'_>, args: &ExportArgs) -> Result<Exit, Failure> {
    let format = match args.kind {
        ExportFormatArg::Jsonl => Format::Cells,
        ExportFormatArg::Csv => Format::Csv,
        ExportFormatArg::Junit => Format::Junit,
        ExportFormatArg::Parquet => {
            return print_files(context, &context.app.export_parquet(&args.run, folder(args)?)?);
        }
        ExportFormatArg::Inspect => {
            return print_files(context, &context.app.export_inspect(&args.run, folder(args)?)?);
        }
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

/// Returns the folder that an export of several files is written into.
fn folder(args: &ExportArgs) -> Result<&Path, Failure> {
    match args.output.as_str() {
        "-" => Err(Failure::Message("this format is a folder of files: name it with `-o DIR`".to_owned())),
        folder => Ok(Path::new(folder)),
    }
}

fn print_files(context: &CommandContext<'_>, exported: &ExportedFiles) -> Result<Exit, Failure> {
    context.printer.say(&count_noun(exported.cells, "cell"));
    for file in &exported.files {
        context.printer.data(&file.display().to_string())?;
    }
    Ok(Exit::Pass)
}
