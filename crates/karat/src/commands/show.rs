//! `karat show`: cells of a run, or rows of a suite, as a table, TSV or JSON.

use karat_app::{Asked, CellLine, RowFilter};
use karat_types::{CellStatus, Exit, Score};

use super::drift::choice;
use super::{Edge, table};
use crate::args::{RowsArg, ShowArgs, StatusArg};
use crate::failure::Failure;

pub fn show(edge: &Edge<'_>, args: &ShowArgs) -> Result<Exit, Failure> {
    let choice = choice(&args.rows);
    if choice != RowFilter::default() || edge.app.is_suite(&args.run) {
        return rows(edge, args, choice);
    }
    let (metrics, mut lines) = edge.app.cells(&args.run)?;
    lines.retain(|line| {
        let status = args.status.is_none_or(|wanted| line.status == status(wanted));
        status && args.sample.as_ref().is_none_or(|sample| line.sample == *sample)
    });
    match form(args) {
        RowsArg::Json => edge.json(&lines)?,
        RowsArg::Tsv => {
            let head = head(&metrics).join("\t");
            let rows = lines.iter().map(|line| row(line, &metrics).join("\t"));
            edge.printer.data(&std::iter::once(head).chain(rows).collect::<Vec<_>>().join("\n"))?;
        }
        RowsArg::Table => edge.printer.data(&table(&head(&metrics), lines.iter().map(|line| row(line, &metrics))))?,
    }
    Ok(Exit::Pass)
}

fn form(args: &ShowArgs) -> RowsArg {
    if args.json { RowsArg::Json } else { args.format }
}

/// The rows that stand for a suite (BR-15).
fn rows(edge: &Edge<'_>, args: &ShowArgs, choice: RowFilter) -> Result<Exit, Failure> {
    if args.status.is_some() || args.sample.is_some() {
        return Err(Failure::Edge("`--status` and `--sample` choose cells of a run, not rows of a suite".to_owned()));
    }
    let rows = edge.app.history(&Asked { suite: args.run.clone(), choice })?;
    rows.history.warnings().iter().for_each(|line| edge.printer.say(&format!("warning: {line}")));
    match form(args) {
        RowsArg::Json => edge.printer.data(&rows.json())?,
        RowsArg::Tsv => edge.printer.data(&rows.tsv())?,
        RowsArg::Table => {
            let (names, rows) = rows.table();
            edge.printer.data(&table(&names.iter().map(String::as_str).collect::<Vec<_>>(), rows.into_iter()))?;
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
    fixed.into_iter().chain(scores).map(|text| clean(&text)).collect()
}

fn figure(score: &Score) -> String {
    match score {
        Score::Value { value, .. } => format!("{value:.3}"),
        Score::NotApplicable { .. } => "n/a".to_owned(),
        Score::Unscored { .. } => "unscored".to_owned(),
    }
}

/// One field: no tab, no line break, no control character.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_bidi(c) { ' ' } else { c }).collect()
}

/// Marks that turn the direction of text, and so what a reader sees.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}
