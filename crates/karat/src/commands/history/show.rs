//! `karat show`: cells of a run, or rows of a suite, as a table, TSV or JSON; inputs and outputs as text.

use std::io::Write;

use karat_app::{CellFilter, CellLine, RowFilter, RowsRequest, Scale, SuiteCell, usd};
use karat_types::{CellStatus, Exit, Score};

use crate::args::{OutputsArg, ShowArgs, StatusArg, TableFormatArg};
use crate::commands::CommandContext;
use crate::commands::invocation::rows_in_range;
use crate::commands::table::{StreamedTable, table};
use crate::failure::Failure;

pub fn show(context: &CommandContext<'_>, args: &ShowArgs) -> Result<Exit, Failure> {
    let choice = rows_in_range(&args.range);
    if let (Some(sample), TableFormatArg::Table) = (&args.sample, format(args)) {
        context.printer.text(&context.app.views().show_sample(&args.run, sample)?)?;
        return Ok(Exit::Pass);
    }
    if choice != RowFilter::default() || context.app.stored().is_suite(&args.run) {
        return print_suite_rows(context, args, choice);
    }
    if let (Some(shown), TableFormatArg::Table) = (args.outputs, format(args)) {
        let outputs = OutputsArg::outputs(Some(shown), args.cells);
        context.printer.stream_text_lines(|out| {
            context.app.views().show_outputs(&args.run, outputs, &mut |text| out.write_all(text.as_bytes()))
        })?;
        return Ok(Exit::Pass);
    }
    print_cells(context, args)?;
    Ok(Exit::Pass)
}

fn format(args: &ShowArgs) -> TableFormatArg {
    if args.json { TableFormatArg::Json } else { args.format }
}

/// Prints the cells of a run while they are read.
fn print_cells(context: &CommandContext<'_>, args: &ShowArgs) -> Result<(), Failure> {
    let filter = CellFilter {
        status: args.status.map(status),
        sample: args.sample.clone(),
        with_texts: args.sample.is_some() || args.outputs.is_some_and(|shown| shown != OutputsArg::None),
    };
    context.app.views().check_not_a_sample(&args.run)?;
    if let Some(note) = context.app.analysis().shard_note(&args.run)?.filter(|_| !context.quiet) {
        context.printer.say(&note);
    }
    let metrics = context.app.views().metric_scales(&args.run)?;
    let head: Vec<&str> = head(&metrics);
    let each = |each: &mut dyn FnMut(&CellLine) -> std::io::Result<()>| {
        context.app.views().each_cell(&args.run, &filter, each)
    };
    match format(args) {
        TableFormatArg::Json => context.printer.stream_lines(|out| {
            print_json_list(out, |item| each(&mut |line| item(&serde_json::to_string(line).unwrap_or_default())))
        }),
        TableFormatArg::Tsv => context.printer.stream_lines(|out| {
            let _ = writeln!(out, "{}", head.iter().map(|name| one_field(name)).collect::<Vec<_>>().join("\t"));
            each(&mut |line| writeln!(out, "{}", row(line, &metrics, plain).join("\t")))
        }),
        TableFormatArg::Table => context.printer.stream_text_lines(|out| {
            let mut table = StreamedTable::new(context, &head);
            each(&mut |line| table.add(row(line, &metrics, figure), out))?;
            let _ = table.end(out);
            Ok(())
        }),
    }
}

/// Writes a JSON list with one item a line.
fn print_json_list<E>(
    out: &mut dyn Write,
    items: impl FnOnce(&mut dyn FnMut(&str) -> std::io::Result<()>) -> Result<(), E>,
) -> Result<(), E> {
    let mut is_first = true;
    items(&mut |item| {
        let before = if std::mem::take(&mut is_first) { "[\n" } else { ",\n" };
        write!(out, "{before}{}", karat_app::escape_json(item))
    })?;
    // The printer keeps an error of writing and reports it at the end.
    let _ = out.write_all(if is_first { b"[]\n" } else { b"\n]\n" });
    Ok(())
}

/// Prints the rows of all runs of a suite: the judged rows that it declares, or its cells with its headline
/// metrics.
fn print_suite_rows(context: &CommandContext<'_>, args: &ShowArgs, choice: RowFilter) -> Result<Exit, Failure> {
    if args.status.is_some() || args.outputs.is_some() || args.sample.is_some() {
        return Err(Failure::Message(
            "`--status` and `--outputs` choose cells of a run, and `karat show SUITE` shows rows of a suite: name a run, \
             or `latest`. `karat show SUITE --sample ID` shows a sample"
                .to_owned(),
        ));
    }
    if let Some(metrics) = context.app.views().suite_headline(&args.run)? {
        print_suite_cells(context, args, &choice, &metrics)?;
        return Ok(Exit::Pass);
    }
    let rows = context.app.analysis().history(&RowsRequest { suite: args.run.clone(), choice })?;
    context.print_warnings(rows.warnings());
    match format(args) {
        TableFormatArg::Json => context.printer.data(&karat_app::escape_json(&rows.json()))?,
        TableFormatArg::Tsv => context.printer.data(&rows.tsv())?,
        TableFormatArg::Table => {
            let (names, rows) = rows.table();
            context.printer.text(&table(
                context,
                &names.iter().map(String::as_str).collect::<Vec<_>>(),
                rows.into_iter(),
            ))?;
        }
    }
    Ok(Exit::Pass)
}

/// Prints the latest cell of each sample and system of a suite while they are read.
fn print_suite_cells(
    context: &CommandContext<'_>,
    args: &ShowArgs,
    choice: &RowFilter,
    metrics: &[(String, Scale)],
) -> Result<(), Failure> {
    let names = metrics.iter().map(|(name, _)| name.as_str());
    let head: Vec<&str> =
        ["sample", "system", "trial"].into_iter().chain(names).chain(["verdict", "cost", "run"]).collect();
    let each = |each: &mut dyn FnMut(&SuiteCell) -> std::io::Result<()>| {
        context.app.views().each_suite_cell(&args.run, choice, metrics, each)
    };
    match format(args) {
        TableFormatArg::Json => context.printer.stream_lines(|out| {
            print_json_list(out, |item| each(&mut |cell| item(&serde_json::to_string(cell).unwrap_or_default())))
        }),
        TableFormatArg::Tsv => context.printer.stream_lines(|out| {
            let _ = writeln!(out, "{}", head.iter().map(|name| one_field(name)).collect::<Vec<_>>().join("\t"));
            each(&mut |cell| writeln!(out, "{}", suite_row(cell, metrics, plain).join("\t")))
        }),
        TableFormatArg::Table => context.printer.stream_text_lines(|out| {
            let mut table = StreamedTable::new(context, &head);
            each(&mut |cell| table.add(suite_row(cell, metrics, figure), out))?;
            let _ = table.end(out);
            Ok(())
        }),
    }
}

fn suite_row(cell: &SuiteCell, metrics: &[(String, Scale)], written: Written) -> Vec<String> {
    let scores = cell.scores.iter().zip(metrics);
    let scores = scores.map(|((_, score), (_, scale))| score.as_ref().map(|it| written(it, scale)).unwrap_or_default());
    let fixed = [cell.sample.clone(), cell.system.clone(), cell.trial.to_string()];
    let row = fixed.into_iter().chain(scores).chain([cell.verdict.to_owned(), usd(cell.cost_usd), cell.run.clone()]);
    row.map(|text| one_field(&text)).collect()
}

fn status(wanted: StatusArg) -> CellStatus {
    match wanted {
        StatusArg::Ok => CellStatus::Ok,
        StatusArg::Error => CellStatus::Error,
        StatusArg::Skipped => CellStatus::Skipped,
    }
}

fn head(metrics: &[(String, Scale)]) -> Vec<&str> {
    ["cell", "sample", "model", "variant", "trial", "status"]
        .into_iter()
        .chain(metrics.iter().map(|(name, _)| name.as_str()))
        .collect()
}

fn row(line: &CellLine, metrics: &[(String, Scale)], written: Written) -> Vec<String> {
    let status = match (line.status, &line.error) {
        (CellStatus::Ok, _) => "ok".to_owned(),
        (CellStatus::Skipped, _) => "skipped".to_owned(),
        (CellStatus::Error, Some(error)) => format!("error: {}", error.code),
        (CellStatus::Error, None) => "error".to_owned(),
    };
    let fixed = [
        line.cell.to_string(),
        line.sample.clone(),
        line.model.clone().unwrap_or_default(),
        line.variant.clone(),
        line.trial.to_string(),
        status,
    ];
    let score = |metric, scale| line.scores.get(metric).map(|score| written(score, scale)).unwrap_or_default();
    let scores = metrics.iter().map(|(metric, scale)| score(metric, scale));
    fixed.into_iter().chain(scores).map(|text| one_field(&text)).collect()
}

/// The form of a score in a field.
type Written = fn(&Score, &Scale) -> String;

/// Returns a score in the unit of its metric, for people.
fn figure(score: &Score, scale: &Scale) -> String {
    match score {
        Score::Value { value, .. } => scale.text(*value),
        Score::NotApplicable { .. } => "n/a".to_owned(),
        Score::Unscored { .. } => "unscored".to_owned(),
    }
}

/// Returns a score as a bare number, for programs.
fn plain(score: &Score, scale: &Scale) -> String {
    match score {
        Score::Value { value, .. } => format!("{value:.3}"),
        _ => figure(score, scale),
    }
}

/// Returns a text as one field: without tabs, line breaks, and characters that act on a terminal.
fn one_field(text: &str) -> String {
    karat_app::visible_name(&text.replace(['\t', '\n', '\r'], " ")).into_owned()
}
