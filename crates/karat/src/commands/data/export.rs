//! `karat export`.

use std::io::Write;
use std::path::Path;

use karat_app::{AppError, AtomicFile, ExportedFiles, Outputs, SpanContent, count_noun};
use karat_types::{Exit, ReportFormat};

use crate::args::{ExportArgs, ExportFormatArg};
use crate::commands::CommandContext;
use crate::failure::Failure;

pub fn export(context: &CommandContext<'_>, args: &ExportArgs) -> Result<Exit, Failure> {
    let is_otel = args.kind == ExportFormatArg::Otel;
    if args.output.contains("://") && !(is_otel && is_address(&args.output)) {
        let told =
            if is_otel { "an address begins with http:// or https://" } else { "only `otel` goes to an address" };
        return Err(Failure::Message(format!("`-o {}` is not a file: {told}", args.output)));
    }
    let args = &ExportArgs { run: context.app.stored().run_of(&args.run)?, ..args.clone() };
    let format = match args.kind {
        ExportFormatArg::Jsonl => ReportFormat::Cells,
        ExportFormatArg::Csv => ReportFormat::Csv,
        ExportFormatArg::Junit => ReportFormat::Junit,
        ExportFormatArg::Parquet => {
            return print_files(context, &context.app.reports().export_parquet(&args.run, folder(args)?)?);
        }
        ExportFormatArg::Figures => {
            return write_whole(context, args, |out| context.app.reports().export_figures(&args.run, out));
        }
        ExportFormatArg::SpanSnapshot => {
            return write_whole(context, args, |out| {
                context.app.reports().export_span_snapshot(&args.run, out).map(drop)
            });
        }
        ExportFormatArg::Otel => return otel(context, args),
        ExportFormatArg::Inspect => {
            return print_files(context, &context.app.reports().export_inspect(&args.run, folder(args)?)?);
        }
    };
    if args.output == "-" {
        context.print_format(&args.run, (format, Outputs::default()), false)?;
        return Ok(Exit::Pass);
    }
    let mut out = AtomicFile::create(Path::new(&args.output)).map_err(|error| unwritable(args, &error))?;
    context.app.reports().export(&args.run, format, Outputs::default(), false, &mut out)?;
    out.finish().map_err(|error| unwritable(args, &error))?;
    Ok(Exit::Pass)
}

/// Writes one file, or to stdout.
fn write_whole(
    context: &CommandContext<'_>,
    args: &ExportArgs,
    write: impl Fn(&mut dyn Write) -> Result<(), AppError>,
) -> Result<Exit, Failure> {
    if args.output == "-" {
        context.printer.stream(&write)?;
        return Ok(Exit::Pass);
    }
    let mut out = AtomicFile::create(Path::new(&args.output)).map_err(|error| unwritable(args, &error))?;
    write(&mut out)?;
    out.finish().map_err(|error| unwritable(args, &error))?;
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

/// Writes a run as OpenTelemetry, or sends it to a receiver.
fn otel(context: &CommandContext<'_>, args: &ExportArgs) -> Result<Exit, Failure> {
    let content = if args.content { SpanContent::Included } else { SpanContent::LeftOut };
    let scores = if is_address(&args.output) {
        context.app.reports().send_otel(&args.run, content, &args.output)?
    } else if args.output == "-" {
        context.printer.stream_json(|out| context.app.reports().export_otel(&args.run, content, out))?
    } else {
        let mut file = AtomicFile::create(Path::new(&args.output)).map_err(|error| unwritable(args, &error))?;
        let scores = context.app.reports().export_otel(&args.run, content, &mut file)?;
        file.finish().map_err(|error| unwritable(args, &error))?;
        scores
    };
    context.printer.say(&count_noun(scores, "score"));
    Ok(Exit::Pass)
}

fn is_address(output: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| output.starts_with(scheme))
}

fn unwritable(args: &ExportArgs, error: &std::io::Error) -> Failure {
    Failure::Message(format!("writing {}: {error}. Name another file with `-o`", args.output))
}
