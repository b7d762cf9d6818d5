//! `karat report`, and the reports that follow a run.

use std::fs;
use std::path::{Path, PathBuf};

use karat_app::{Format, Gating, Layout, ReportTo, RowFilter};
use karat_types::Exit;

use super::drift::judged_by;
use super::{Edge, digest};
use crate::args::{FormatArg, LayoutArg, OutputArgs, ReportArgs, TextFormArg};
use crate::failure::Failure;

pub fn report(edge: &Edge<'_>, args: &ReportArgs) -> Result<Exit, Failure> {
    if args.window.window.is_some() || args.window.as_of.is_some() {
        return window(edge, args);
    }
    if judged_by(&args.judged) != RowFilter::default() {
        return Err(Failure::Edge(
            "`--judge`, `--prompt-version` and `--system` choose rows of a suite, and a run's report has all of it. Add \
             `--window 7` for the digest of its last days"
                .to_owned(),
        ));
    }
    write(edge, &args.run, &args.output, args.canonical, false)?;
    Ok(Exit::Pass)
}

/// The digest of a suite, or of a run's suite.
fn window(edge: &Edge<'_>, args: &ReportArgs) -> Result<Exit, Failure> {
    let found = digest::find(edge, &args.run, &args.window, judged_by(&args.judged))?;
    let form = match args.output.format[..] {
        [FormatArg::Md] => Some(TextFormArg::Md),
        [FormatArg::Json] => Some(TextFormArg::Json),
        [] | [FormatArg::Both] => None,
        _ => return Err(Failure::Edge("a digest is written as `--format md` or `--format json`".to_owned())),
    };
    digest::write(edge, &found, args.output.output_dir.as_deref(), form)
}

/// Finds out before anything is made whether the report can be written after it. `events` go to stdout, too.
pub fn check_output(output: &OutputArgs, events: bool) -> Result<(), Failure> {
    if output.to_stdout() {
        if events {
            return Err(Failure::Edge("`--json` and `-o -` both write to stdout: give one of them".to_owned()));
        }
        return only_form(output).map(|_| ());
    }
    let Some(folder) = output.output_dir.as_deref() else { return Ok(()) };
    let probe = Path::new(folder).join(".karat-probe");
    let tried = fs::create_dir_all(folder).and_then(|()| fs::write(&probe, b"")).and_then(|()| fs::remove_file(&probe));
    tried.map_err(|error| {
        Failure::Edge(format!("`-o {folder}`: the folder cannot be written: {error}. Name another one"))
    })
}

/// Prints the rows of a run, where its suite wants that instead of a report on stdout. Gives the exit code of the results.
pub fn rows(edge: &Edge<'_>, run: &str, output: &OutputArgs) -> Result<Option<Exit>, Failure> {
    if !output.to_stdout() || output.format != [FormatArg::Json] {
        return Ok(None);
    }
    let Some(rows) = edge.app.printed_rows(run)? else { return Ok(None) };
    let (summary, exit) = edge.app.summary(run)?;
    if !rows.is_empty() {
        edge.printer.data(&rows)?;
    }
    match exit {
        Exit::GateFailed => edge.printer.say(&edge.app.gate(run, &Gating::default())?.terminal()),
        Exit::HarnessError => edge.printer.say(&summary),
        _ => {}
    }
    Ok(Some(exit))
}

/// Writes the report of a run where the flags say. Gives the exit code of the results and the files. The summary is talk
/// where stdout belongs to something else.
pub fn write(
    edge: &Edge<'_>,
    run: &str,
    output: &OutputArgs,
    canonical: bool,
    summary_is_talk: bool,
) -> Result<(Exit, Vec<PathBuf>), Failure> {
    if output.to_stdout() {
        let form = only_form(output)?;
        let exit = edge.printer.stream(|out| edge.app.export(run, form, canonical, out))?;
        return Ok((exit, Vec::new()));
    }
    let written = edge.app.report_into(run, &place(output), canonical)?;
    if summary_is_talk {
        edge.printer.say(&written.summary);
    } else {
        edge.printer.data(&written.summary)?;
    }
    Ok((written.exit, written.files))
}

/// Where files go.
pub fn place(output: &OutputArgs) -> ReportTo {
    let layout = output.layout.map(|layout| match layout {
        LayoutArg::Folder => Layout::Folder,
        LayoutArg::Flat => Layout::Flat,
    });
    ReportTo { folder: output.output_dir.as_ref().map(PathBuf::from), layout, formats: formats(output.forms()) }
}

/// The one form that stdout takes.
fn only_form(output: &OutputArgs) -> Result<Format, Failure> {
    match formats(output.forms())[..] {
        [format] => Ok(format),
        _ => Err(Failure::Edge("`-o -` writes one form: ask for `--format md` or `--format json`".to_owned())),
    }
}

fn formats(asked: &[FormatArg]) -> Vec<Format> {
    let mut formats = Vec::new();
    for form in asked {
        let more: &[Format] = match form {
            FormatArg::Md => &[Format::Markdown],
            FormatArg::Json => &[Format::Json],
            FormatArg::Cells => &[Format::Cells],
            FormatArg::Html => &[Format::Html],
            FormatArg::Junit => &[Format::Junit],
            FormatArg::Csv => &[Format::Csv],
            FormatArg::Both => &[Format::Markdown, Format::Json],
        };
        formats.extend(more.iter().filter(|format| !formats.contains(*format)).copied().collect::<Vec<_>>());
    }
    formats
}
