//! The summary that a person sees when a run ends: at most [`LINES`] lines, good without colour.

mod analyses;
mod kpis;

use std::fmt::Write as _;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use karat_analysis::{NoteCount, Stage};
use karat_types::NoteKind;

use crate::figures::{self, count};
use crate::provenance;
use crate::report::Report;
use crate::visible::{MESSAGE, brief};

/// Most lines that [`render`] makes.
pub const LINES: usize = 40;

/// Systems shown, the best by the primary metric first; fewer where gates need the room.
const SYSTEMS: usize = 15;
const SYSTEMS_BESIDE_GATES: usize = 5;

/// Gates shown that did not pass.
const GATES: usize = 4;

/// Notes shown on gates.
const NOTES: usize = 2;

/// Reasons shown for which the run failed.
const FAILURES: usize = 3;

/// Warnings shown.
const WARNINGS: usize = 4;

/// Kinds of errors shown.
const ERRORS: usize = 3;

/// Files shown.
const FILES: usize = 6;

/// Characters of an id or a message on one line.
const WIDTH: usize = 100;

/// The summary. Nothing in it can act on a terminal.
pub fn render(report: Report<'_>) -> String {
    let findings = report.findings;
    let mut text = String::new();
    let mut line = |line: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{line}");
    };
    let tally = findings.run.tally;
    let judgments = match tally.judgments {
        0 => String::new(),
        all => format!("; judgments {}, {} reused", count(all), count(tally.judgments_reused)),
    };
    line(format!(
        "{}: cells {} of {}, {} failed, {} unscored, {} skipped, {} reused{judgments}",
        brief(&findings.plan.suite, WIDTH),
        count(tally.cells.saturating_sub(tally.stopped)),
        count(findings.planned),
        count(tally.errors),
        count(tally.unscored),
        count(tally.skipped),
        count(tally.reused)
    ));
    crate::verdict::lines(&report.context.verdicts, GATES, NOTES).into_iter().for_each(&mut line);
    if let Some(note) = &report.context.verdict_note {
        line(format!("no verdict: {}", brief(note, 2 * WIDTH)));
    }
    let failures = &report.context.failures;
    failures.iter().take(FAILURES).for_each(|it| line(format!("failed: {}", brief(it, 3 * WIDTH))));
    if failures.len() > FAILURES {
        let more = count((failures.len() - FAILURES) as u64);
        line(format!(
            "failed: and {more} more reasons; `karat gate {}` lists them all",
            brief(&report.rows.header().id, WIDTH)
        ));
    }
    line(String::new());
    table(report).lines().for_each(|it| line(it.trim_end().to_owned()));
    let left = findings.systems.len().saturating_sub(systems(report));
    if left > 0 {
        line(format!("… and {left} more systems in the report"));
    }
    line(String::new());
    kpis::lines(report).into_iter().for_each(&mut line);
    ranking(report).into_iter().for_each(&mut line);
    analyses::lines(report).into_iter().for_each(&mut line);
    errors(report).into_iter().for_each(&mut line);
    let warnings = report.warnings().map(|it| brief(it, 2 * WIDTH));
    lost(report).into_iter().chain(warnings).take(WARNINGS).for_each(|it| line(format!("warning: {it}")));
    line(cost(report));
    line(how_made(report));
    for file in report.context.files.iter().take(FILES) {
        line(format!("report: {}", brief(file, 3 * WIDTH)));
    }
    text
}

/// How many systems are shown.
fn systems(report: Report<'_>) -> usize {
    if report.context.verdicts.decisions.is_empty() { SYSTEMS } else { SYSTEMS_BESIDE_GATES }
}

fn table(report: Report<'_>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let Some((at, metric)) = report.primary() else { return table };
    let right = |text: String| Cell::new_owned(text).set_alignment(CellAlignment::Right);
    let head = ["system", "", "interval", "n", "failed", "unscored", "$/cell"];
    let name = brief(&metric.name, WIDTH / 2);
    table.set_header(head.iter().enumerate().map(|(column, head)| match column {
        0 => Cell::new(head),
        1 => right(name.clone()),
        _ => right((*head).to_owned()),
    }));
    for group in report.ranked().into_iter().take(systems(report)) {
        let figure = group.metrics.get(at).and_then(|spread| spread.figure());
        table.add_row([
            Cell::new_owned(brief(&group.id, WIDTH / 2)),
            right(figures::maybe(metric, figure.map(|it| it.value()))),
            right(figure.map_or(figures::NONE.to_owned(), |it| figures::interval(metric, it))),
            right(count(figure.map_or(0, |it| it.n()))),
            right(count(group.tally.errors)),
            right(count(group.tally.unscored)),
            right(figures::usd(group.spend.per_cell_usd())),
        ]);
    }
    table
}

fn ranking(report: Report<'_>) -> Vec<String> {
    let (Some((_, metric)), Some(board)) = (report.primary(), report.findings.primary_board()) else {
        return Vec::new();
    };
    let line = |label: &str, place: Option<&karat_analysis::RankedPlace>| {
        let place = place?;
        Some(format!("{label} {}: {}", brief(&place.id, WIDTH / 2), figures::full(metric, &place.finding)))
    };
    let ranked = board.places.len() > 1 && !board.is_level();
    let worst = board.places.last().filter(|_| ranked);
    let level = board.is_level().then(|| format!("all {} have the same score", count(board.places.len() as u64)));
    [
        level,
        line(if ranked { "best   " } else { "score  " }, board.places.first()),
        line("worst  ", worst),
        line("hardest", board.hardest_sample.as_ref()),
        (board.shared < board.scored).then(|| {
            format!(
                "compared on {} of {} scored sample × variant pairs: those that all models share",
                count(board.shared),
                count(board.scored)
            )
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The most frequent codes of failure, each with the first message of its most frequent kind.
fn errors(report: Report<'_>) -> Vec<String> {
    let Some(errors) = report.findings.errors() else { return Vec::new() };
    let shown = errors.codes.iter().take(ERRORS).filter_map(|code| {
        let mut kinds = errors.kinds.iter().filter(|kind| kind.stage == code.stage && kind.code == code.code);
        let example = kinds.next()?.examples.first()?;
        let what = match code.stage {
            Stage::Cell => "cell",
            Stage::Judgment => "judgment",
            Stage::Score => "score",
        };
        let times = if code.count == 1 { what.to_owned() } else { format!("{what}s") };
        let causes = match kinds.count() {
            0 => String::new(),
            more => format!(" ({} causes)", count(more as u64 + 1)),
        };
        let (who, message) = (brief(&example.who, WIDTH / 2), brief(&example.message, MESSAGE));
        Some(format!(
            "error: {} {times}, {}{causes}: {who}: {message}",
            count(code.count),
            brief(&code.code, WIDTH / 2)
        ))
    });
    let more = errors.codes.get(ERRORS..).filter(|more| !more.is_empty()).map(|more| {
        let codes: Vec<String> =
            more.iter().map(|code| format!("{} {}", count(code.count), brief(&code.code, WIDTH / 2))).collect();
        brief(&format!("error: and {}", codes.join(", ")), 2 * WIDTH)
    });
    shown.chain(more).collect()
}

/// What systems and judges did not read or say to the end, each kind with its first example and what to do about it.
fn lost(report: Report<'_>) -> Vec<String> {
    let kinds = report.findings.notes().map_or(&[][..], |notes| &notes.kinds);
    let told = kinds.iter().filter_map(|note| {
        let (one, many, hint) = match note.kind {
            NoteKind::Truncated if note.cells == 0 => ("reply", "replies", "raise `--judge-max-tokens`"),
            NoteKind::Truncated => ("reply", "replies", "raise `max_tokens` (`--max-output-tokens`)"),
            NoteKind::DroppedChunks => ("chunk", "chunks", "raise `chunk.max` (`--max-chunks`)"),
            _ => return None,
        };
        let done = if note.kind == NoteKind::DroppedChunks { "dropped" } else { "cut off" };
        let (what, places) = (counted(note.times, one, many), places(note));
        let (who, example) = (brief(&note.sample, WIDTH / 2), brief(&note.example, MESSAGE));
        Some(format!("{what} {done} in {places}: {who}: {example}; {hint}"))
    });
    told.collect()
}

/// In how many cells and judgments.
fn places(note: &NoteCount) -> String {
    let cells = (note.cells > 0).then(|| counted(note.cells, "cell", "cells"));
    let judgments = (note.judgments > 0).then(|| counted(note.judgments, "judgment", "judgments"));
    cells.into_iter().chain(judgments).collect::<Vec<_>>().join(" and ")
}

fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

fn cost(report: Report<'_>) -> String {
    let spend = report.findings.run.spend;
    let failed = report.findings.run.tally.errors > 0;
    let divided = if failed { "; $/cell is all cost ÷ all cells made, failed ones too" } else { "" };
    format!(
        "cost: estimate {}; {} at list price, {} paid; {} tokens of systems, {} of judges{divided}",
        figures::estimate(report.context.estimate.as_ref()),
        figures::money(spend.cost()),
        figures::money(Some(report.paid())),
        count(spend.extraction.usage.total()),
        count(spend.judging.usage.total())
    )
}

fn how_made(report: Report<'_>) -> String {
    let parts = provenance::parts(report).into_iter().map(|(label, text)| format!("{label} {}", brief(&text, WIDTH)));
    format!("how these numbers were made: {}", parts.collect::<Vec<_>>().join(" · "))
}
