//! `karat report`, and the reports that follow a run.

use std::fs;
use std::path::{Path, PathBuf};

use karat_app::{GateRequest, JudgeChoice, Layout, Outputs, ReportTo, RowFilter, SeriesRequest};
use karat_types::{Exit, ReportFormat};

use crate::args::{LayoutArg, OutputArgs, OutputsArg, ReportArgs, TextFormatArg};
use crate::commands::CommandContext;
use crate::commands::history::digest;
use crate::commands::invocation::rows_judged_by;
use crate::failure::Failure;

pub fn report(context: &CommandContext<'_>, args: &ReportArgs) -> Result<Exit, Failure> {
    if args.series {
        return report_series(context, args);
    }
    if args.window.window.is_some() || args.window.as_of.is_some() {
        return report_window(context, args);
    }
    if rows_judged_by(&args.judged) != RowFilter::default() {
        return Err(Failure::Message(
            "`--judge`, `--prompt-version` and `--system` choose rows of a suite, but the report of a run has all rows. \
             Add `--window 7` for a digest of the suite's last seven days, or `--series` for the page of all days"
                .to_owned(),
        ));
    }
    if let Some(file) = &args.from {
        return comment_of_file(context, file, &args.output);
    }
    let outputs = OutputsArg::outputs(args.output.outputs, args.cells);
    write_report_with(context, &context.app.stored().run_of(&args.run)?, &args.output, outputs, args.canonical, false)?;
    Ok(Exit::Pass)
}

/// Writes the comment on the run of a report.json to stdout, or into a folder.
fn comment_of_file(context: &CommandContext<'_>, file: &str, output: &OutputArgs) -> Result<Exit, Failure> {
    if output.asked_formats() != [ReportFormat::Comment] {
        let message = "`--from` makes a comment from a report.json: use it with `--format comment`";
        return Err(Failure::Message(message.to_owned()));
    }
    let comment = context.app.reports().comment_of_file(Path::new(file))?;
    let Some(folder) = output.output_dir.as_deref().filter(|folder| *folder != "-") else {
        context.printer.data(&comment)?;
        return Ok(Exit::Pass);
    };
    let target = Path::new(folder).join("comment.md");
    fs::create_dir_all(folder).and_then(|()| fs::write(&target, comment)).map_err(|error| {
        Failure::Message(format!("writing {}: {error}. Name another folder with `-o`", target.display()))
    })?;
    context.printer.data(&target.display().to_string())?;
    Ok(Exit::Pass)
}

/// Writes the page of a dated suite.
fn report_series(context: &CommandContext<'_>, args: &ReportArgs) -> Result<Exit, Failure> {
    if !args.output.asked_formats().iter().all(|format| *format == ReportFormat::Html) {
        return Err(Failure::Message("the page of a suite's days has one format: leave out `--format`".to_owned()));
    }
    let asked = SeriesRequest {
        judge: JudgeChoice::parse(args.judged.judge.as_deref().unwrap_or_default()),
        system: args.judged.system.clone(),
        as_of: args.window.as_of.clone(),
        ..SeriesRequest::default()
    };
    let page = context.app.reports().series_page(&args.run, asked)?;
    let output = args.output.output_dir.as_deref().unwrap_or("series.html");
    if output == "-" {
        context.printer.data(&page)?;
        return Ok(Exit::Pass);
    }
    let path = Path::new(output);
    let is_file = path.extension().is_some_and(|extension| extension == "html");
    let file = if is_file { path.to_owned() } else { path.join("series.html") };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&file, page)).map_err(|error| {
        Failure::Message(format!("writing {}: {error}. Name another file with `-o`", file.display()))
    })?;
    context.printer.text(&file.display().to_string())?;
    Ok(Exit::Pass)
}

/// Writes the digest of a suite, or of a run's suite.
fn report_window(context: &CommandContext<'_>, args: &ReportArgs) -> Result<Exit, Failure> {
    let digested = digest::compute(context, &args.run, &args.window, rows_judged_by(&args.judged))?;
    let format = match args.output.asked_formats()[..] {
        [ReportFormat::Markdown] => Some(TextFormatArg::Md),
        [ReportFormat::Json] => Some(TextFormatArg::Json),
        [ReportFormat::Html] => Some(TextFormatArg::Html),
        [] | [ReportFormat::Markdown, ReportFormat::Json] => None,
        _ => {
            let message = "a digest has three formats: use one of `--format md`, `--format json` and `--format html`";
            return Err(Failure::Message(message.to_owned()));
        }
    };
    digest::write(context, &digested, args.output.output_dir.as_deref(), format)
}

/// Checks before a run that its report can be written after it. `events` says whether events go to stdout.
pub fn check_output(output: &OutputArgs, events: bool) -> Result<(), Failure> {
    if output.to_stdout() {
        if events {
            return Err(Failure::Message("`--json` and `-o -` both write to stdout; use one of them".to_owned()));
        }
        return single_format(output).map(|_| ());
    }
    let Some(folder) = output.output_dir.as_deref() else { return Ok(()) };
    if Path::new(folder).is_file() {
        return Err(Failure::Message(format!("cannot write reports into `-o {folder}`: it is a file. Name a folder")));
    }
    let probe = Path::new(folder).join(".karat-probe");
    let tried = fs::create_dir_all(folder).and_then(|()| fs::write(&probe, b"")).and_then(|()| fs::remove_file(&probe));
    tried.map_err(|error| {
        Failure::Message(format!("cannot write reports into `-o {folder}`: {error}. Name another folder"))
    })
}

/// Prints the rows of a run, if its suite prefers them to a report on stdout. Returns the exit code of the results.
pub fn print_rows(context: &CommandContext<'_>, run: &str, output: &OutputArgs) -> Result<Option<Exit>, Failure> {
    if !output.to_stdout() || output.asked_formats() != [ReportFormat::Json] {
        return Ok(None);
    }
    let Some(rows) = context.app.analysis().printed_rows(run)? else { return Ok(None) };
    let (summary, exit) = context.app.reports().summary(run)?;
    if !rows.is_empty() {
        context.printer.data(&karat_app::escape_json(&rows))?;
    }
    match exit {
        Exit::GateFailed => context.printer.say(&context.app.analysis().gate(run, &GateRequest::default())?.terminal()),
        Exit::HarnessError => context.printer.say(&summary),
        _ => {}
    }
    Ok(Some(exit))
}

/// Writes the report of a run. Returns the exit code of the results, and the files. `summary_to_stderr` keeps stdout free
/// for other data.
pub fn write_report(
    context: &CommandContext<'_>,
    run: &str,
    output: &OutputArgs,
    canonical: bool,
    summary_to_stderr: bool,
) -> Result<(Exit, Vec<PathBuf>), Failure> {
    let outputs = OutputsArg::outputs(output.outputs, None);
    write_report_with(context, run, output, outputs, canonical, summary_to_stderr)
}

fn write_report_with(
    context: &CommandContext<'_>,
    run: &str,
    output: &OutputArgs,
    outputs: Outputs,
    canonical: bool,
    summary_to_stderr: bool,
) -> Result<(Exit, Vec<PathBuf>), Failure> {
    if output.to_stdout() {
        let format = single_format(output)?;
        let exit = context.print_format(run, (format, outputs), canonical)?;
        return Ok((exit, Vec::new()));
    }
    let written = context.app.reports().report_into(run, &ReportTo { outputs, ..destination(output) }, canonical)?;
    if summary_to_stderr {
        context.printer.say(&written.summary);
    } else {
        context.printer.summary(&written.summary)?;
    }
    Ok((written.exit, written.files))
}

/// Returns the folder, layout and formats of the report files.
pub fn destination(output: &OutputArgs) -> ReportTo {
    let layout = output.layout.map(|layout| match layout {
        LayoutArg::Folder => Layout::Folder,
        LayoutArg::Flat => Layout::Flat,
    });
    ReportTo {
        folder: output.output_dir.as_ref().map(PathBuf::from),
        layout,
        formats: output.formats(),
        outputs: OutputsArg::outputs(output.outputs, None),
    }
}

/// Returns the format for stdout.
fn single_format(output: &OutputArgs) -> Result<ReportFormat, Failure> {
    match output.formats()[..] {
        [format] => Ok(format),
        _ => {
            let message = "`-o -` writes one format: use `--format md` or `--format json`, or name a folder";
            Err(Failure::Message(message.to_owned()))
        }
    }
}
