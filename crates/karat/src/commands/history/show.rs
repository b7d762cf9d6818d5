//! `karat show`: cells of a run, or rows of a suite, as a table, TSV or JSON.

use karat_app::{CellLine, RowFilter, RowsRequest};
use karat_types::{CellStatus, Exit, Score};

use crate::args::{ShowArgs, StatusArg, TableFormatArg};
use crate::commands::CommandContext;
use crate::commands::invocation::rows_in_range;
use crate::commands::table::table;
use crate::failure::Failure;

pub fn show(context: &CommandContext<'_>, args: &ShowArgs) -> Result<Exit, Failure> {
    let choice = rows_in_range(&args.range);
    if choice != RowFilter::default() || context.app.is_suite(&args.run) {
        return print_suite_rows(context, args, choice);
    }
    let (metrics, mut lines) = context.app.cells(&args.run)?;
    lines.retain(|line| {
        let status = args.status.is_none_or(|wanted| line.status == status(wanted));
        status && args.sample.as_ref().is_none_or(|sample| line.sample == *sample)
    });
    match format(args) {
        TableFormatArg::Json => context.print_json(&lines)?,
        TableFormatArg::Tsv => {
            let head = head(&metrics).join("\t");
            let rows = lines.iter().map(|line| row(line, &metrics).join("\t"));
            context.printer.data(&std::iter::once(head).chain(rows).collect::<Vec<_>>().join("\n"))?;
        }
        TableFormatArg::Table => {
            context.printer.data(&table(context, &head(&metrics), lines.iter().map(|line| row(line, &metrics))))?
        }
    }
    Ok(Exit::Pass)
}

fn format(args: &ShowArgs) -> TableFormatArg {
    if args.json { TableFormatArg::Json } else { args.format }
}

/// Prints the rows of all runs of a suite (BR-15).
fn print_suite_rows(context: &CommandContext<'_>, args: &ShowArgs, choice: RowFilter) -> Result<Exit, Failure> {
    if args.status.is_some() || args.sample.is_some() {
        return Err(Failure::Message(
            "`--status` and `--sample` choose cells of a run, and `karat show SUITE` shows rows of a suite".to_owned(),
        ));
    }
    let rows = context.app.history(&RowsRequest { suite: args.run.clone(), choice })?;
    context.print_warnings(rows.warnings());
    match format(args) {
        TableFormatArg::Json => context.printer.data(&rows.json())?,
        TableFormatArg::Tsv => context.printer.data(&rows.tsv())?,
        TableFormatArg::Table => {
            let (names, rows) = rows.table();
            context.printer.data(&table(
                context,
                &names.iter().map(String::as_str).collect::<Vec<_>>(),
                rows.into_iter(),
            ))?;
        }
    }
    Ok(Exit::Pass)
}

fn status(wanted: StatusArg) -> CellStatus {
    match wanted {
        StatusArg::Ok => CellStatus::Ok,
        StatusArg::Error => CellStatus::Error,
        StatusArg::Skipped => CellStatus::Skipped,
    }
}

fn head(metrics: &[String]) -> Vec<&str> {
    ["cell", "sample", "model", "variant", "trial", "status"]
        .into_iter()
        .chain(metrics.iter().map(String::as_str))
        .collect()
}

fn row(line: &CellLine, metrics: &[String]) -> Vec<String> {
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
    let scores = metrics.iter().map(|metric| line.scores.get(metric).map(figure).unwrap_or_default());
    fixed.into_iter().chain(scores).map(|text| one_field(&text)).collect()
}

fn figure(score: &Score) -> String {
    match score {
        Score::Value { value, .. } => format!("{value:.3}"),
        Score::NotApplicable { .. } => "n/a".to_owned(),
        Score::Unscored { .. } => "unscored".to_owned(),
    }
}

/// Returns a text as one field: without tabs, line breaks and control characters.
fn one_field(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_bidi(c) { ' ' } else { c }).collect()
}

/// Returns whether a character changes the direction of text, and so what a reader sees.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}
