//! Cells, judgments and scores that failed, by code and cause, and cells that a condition skipped.

use karat_analysis::{ErrorKind, Errors, Stage};
use karat_page::block::{Block, Cell, Column, Head};

use crate::blocks::build::{table, table_if_any, texts};
use crate::shared::report::Report;
use crate::shared::visible::{MESSAGE, both_ends, excerpt};

/// Returns the name of the stage that failed.
pub(crate) fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Cell => "cell",
        Stage::Judgment => "judgment",
        Stage::Score => "score",
    }
}

/// Returns the first message of a kind of error, with what it happened to.
fn example(report: Report<'_>, kind: &ErrorKind) -> String {
    let Some(it) = kind.examples.first() else { return String::new() };
    let see = report.reply_command(&kind.code, it.cell).map(|command| format!(" (see `{command}`)"));
    format!("{} {}: {}{}", it.sample, it.who, both_ends(&it.message, MESSAGE), see.unwrap_or_default())
}

pub(in crate::blocks) fn blocks(report: Report<'_>, found: &Errors) -> Vec<Block> {
    let rows = found.kinds.iter().map(|kind| {
        vec![
            Cell::Code(kind.code.clone()),
            Cell::text(stage_name(kind.stage)),
            Cell::Count(kind.count),
            Cell::Words(example(report, kind)),
        ]
    });
    let mut columns = texts(["Code", "Stage"]);
    columns.push(Column::number("Count"));
    columns.extend(texts(["First example"]));
    let head = Head::new("Errors", "What failed, and why?").when_empty_because("No cell, judgment or score failed.");
    let errors = table(head, columns, rows);
    [Some(errors), skipped_cells(found)].into_iter().flatten().collect()
}

/// Returns the cells that a condition of the suite skipped.
fn skipped_cells(found: &Errors) -> Option<Block> {
    let rows = found.skipped.iter().map(|it| {
        let reason = format!("{}: {}", it.sample, excerpt(&it.reason, MESSAGE));
        vec![Cell::text(&it.system), Cell::Count(it.count), Cell::Words(reason)]
    });
    let mut columns = texts(["System"]);
    columns.push(Column::number("Cells"));
    columns.extend(texts(["First reason"]));
    let head = Head::new("Skipped", "Which cells did the suite leave out?")
        .with_note("A condition of the suite skipped these cells. They are not failures and cost nothing.");
    table_if_any(head, columns, rows)
}
