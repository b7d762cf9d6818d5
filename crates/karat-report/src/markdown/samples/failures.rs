//! Sections on failures: cells below a threshold, cells with errors, skipped cells, and notes.

use std::collections::BTreeSet;

use karat_analysis::{ErrorKind, Failure, Failures, NoteCount, SkippedCells, Stage};
use karat_types::MetricSpec;

use crate::markdown::page::{Column, Inline, Page, columns};
use crate::shared::figures::{self, count};
use crate::shared::report::Report;
use crate::shared::visible::{MESSAGE, excerpt};
use crate::wording::notes::note_name;

/// Number of systems shown that skipped cells.
const LEFT_OUT: usize = 20;

/// Writes the cells that are below a threshold in any metric, the worst first.
pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    let Some(failures) = report.findings.failures() else { return };
    page.heading(2, Inline::plain("Failure analysis"));
    page.paragraph(
        Inline::text(count(failures.cells))
            .and(" of ")
            .and_text(count(failures.of))
            .and(" scored cells are below the threshold of at least one metric. Thresholds: ")
            .then(Inline::list(failures.below.iter().filter_map(|(name, limit)| {
                let metric = metric_of(report, name)?;
                Some(Inline::code(name).and(" ").and_text(figures::value(metric, *limit)))
            })))
            .and("."),
    );
    if failures.worst.is_empty() {
        return;
    }
    categories(page, failures);
    let shows = Shows::of(failures);
    page.table(&shows.columns(), failures.worst.iter().map(|failure| row(report, failure, &shows)));
    if (failures.worst.len() as u64) < failures.cells {
        let shown = count(failures.worst.len() as u64);
        page.paragraph(
            Inline::plain("The worst and examples of every metric, ").and_text(shown).and(" in all, are shown."),
        );
    }
}

/// If several metrics have failures, writes the number of cells and examples for each.
fn categories(page: &mut Page, failures: &Failures) {
    if failures.categories.len() < 2 {
        return;
    }
    let heads = [
        Column::left(Inline::plain("Below threshold in")),
        Column::right(Inline::plain("Cells")),
        Column::right(Inline::plain("Of")),
        Column::left(Inline::plain("Examples")),
    ];
    page.table(
        &heads,
        failures.categories.iter().map(|it| {
            let samples = Inline::list(it.examples.iter().map(|example| Inline::code(&example.sample)));
            vec![Inline::code(&it.metric), Inline::text(count(it.cells)), Inline::text(count(it.of)), samples]
        }),
    );
}

/// The optional columns of the table of failures.
struct Shows<'a> {
    why: bool,
    paths: BTreeSet<&'a str>,
}

impl<'a> Shows<'a> {
    fn of(failures: &'a Failures) -> Self {
        Self {
            why: failures.worst.iter().any(|failure| failure.why.is_some()),
            paths: failures.worst.iter().flat_map(|failure| failure.shown.keys()).map(String::as_str).collect(),
        }
    }

    fn columns(&self) -> Vec<Column> {
        let mut heads =
            ["Sample", "System", "Below threshold in"].map(|head| Column::left(Inline::plain(head))).to_vec();
        heads.extend(self.why.then(|| Column::left(Inline::plain("Why"))));
        heads.extend(self.paths.iter().map(|path| Column::left(Inline::code(path))));
        heads
    }
}

fn metric_of<'a>(report: Report<'a>, name: &str) -> Option<&'a MetricSpec> {
    report.metrics().map(|(_, metric)| metric).find(|metric| metric.name == name)
}

fn row(report: Report<'_>, failure: &Failure, shows: &Shows<'_>) -> Vec<Inline> {
    let fell = failure.shortfalls.iter().filter_map(|it| {
        let metric = metric_of(report, &it.metric)?;
        Some(Inline::code(&it.metric).and(" ").and_text(figures::value(metric, it.value)))
    });
    let mut cells = vec![Inline::code(&failure.sample), Inline::code(&failure.system), Inline::list(fell)];
    cells.extend(shows.why.then(|| Inline::text(reasons(failure))));
    let shown = |path: &&str| failure.shown.get(*path).map_or("", String::as_str);
    cells.extend(shows.paths.iter().map(|path| Inline::text(excerpt(shown(path), 240))));
    cells
}

/// Returns every reason once, that of the worst score first.
fn reasons(failure: &Failure) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    for why in failure.shortfalls.iter().filter_map(|it| it.why.as_deref()) {
        if !reasons.contains(&why) {
            reasons.push(why);
        }
    }
    reasons.iter().map(|why| excerpt(why, 160)).collect::<Vec<_>>().join(" · ")
}

/// Writes the errors, by code and cause.
pub(in crate::markdown) fn write_errors(page: &mut Page, report: Report<'_>) {
    page.heading(2, Inline::plain("Errors"));
    let kinds = report.findings.errors().map(|errors| errors.kinds.as_slice()).unwrap_or_default();
    if kinds.is_empty() {
        page.paragraph(Inline::plain("None."));
        return;
    }
    let heads = [
        Column::left(Inline::plain("Code")),
        Column::left(Inline::plain("Where")),
        Column::right(Inline::plain("Count")),
        Column::left(Inline::plain("First example")),
    ];
    page.table(&heads, kinds.iter().map(|kind| error_row(report, kind)));
}

/// Writes the cells that a condition skipped, with the first reason of each system.
pub(in crate::markdown) fn write_skipped(page: &mut Page, report: Report<'_>) {
    let skipped = report.findings.errors().map(|errors| errors.skipped.as_slice()).unwrap_or_default();
    if skipped.is_empty() {
        return;
    }
    page.heading(2, Inline::plain("Skipped"));
    page.paragraph(Inline::plain(
        "Cells that a condition of the suite skipped. They are not failures and cost nothing.",
    ));
    let heads = [
        Column::left(Inline::plain("System")),
        Column::right(Inline::plain("Cells")),
        Column::left(Inline::plain("First reason")),
    ];
    let row = |it: &SkippedCells| {
        let reason = Inline::code(&it.sample).and(": ").and_text(excerpt(&it.reason, MESSAGE));
        vec![Inline::code(&it.system), Inline::text(count(it.count)), reason]
    };
    page.table(&heads, skipped.iter().take(LEFT_OUT).map(row));
    if let Some(more) = skipped.len().checked_sub(LEFT_OUT).filter(|more| *more > 0) {
        page.paragraph(Inline::plain("… and ").and_text(count(more as u64)).and(" more systems."));
    }
}

fn error_row(report: Report<'_>, kind: &ErrorKind) -> Vec<Inline> {
    let stage = match kind.stage {
        Stage::Cell => "cell",
        Stage::Judgment => "judgment",
        Stage::Score => "score",
    };
    let example = kind.examples.first().map(|it| {
        let example =
            Inline::code(&it.sample).and(" ").and_code(&it.who).and(": ").and_text(excerpt(&it.message, MESSAGE));
        match report.reply_command(&kind.code, it.cell) {
            Some(command) => example.and(" (see ").and_code(&command).and(")"),
            None => example,
        }
    });
    vec![Inline::code(&kind.code), Inline::plain(stage), Inline::text(count(kind.count)), example.unwrap_or_default()]
}

/// Writes the notes: truncated replies, dropped chunks, lenient parses.
pub(in crate::markdown) fn write_notes(page: &mut Page, report: Report<'_>) {
    let Some(notes) = report.findings.notes() else { return };
    let lenient = notes.rungs.iter().filter(|(rung, _)| rung.as_str() != "direct");
    let lenient: Vec<Inline> = lenient
        .map(|(rung, n)| Inline::plain("Judge replies parsed by ").and_code(rung).and(": ").and_text(count(*n)))
        .collect();
    if notes.kinds.is_empty() && lenient.is_empty() {
        return;
    }
    page.heading(2, Inline::plain("Notes"));
    if !notes.kinds.is_empty() {
        let mut heads = columns(&["What", "Cells", "Judgments", "Times"]);
        heads.push(Column::left(Inline::plain("First example")));
        page.table(&heads, notes.kinds.iter().map(note_row));
    }
    page.list(lenient);
}

fn note_row(note: &NoteCount) -> Vec<Inline> {
    vec![
        Inline::plain(note_name(note.kind)),
        Inline::text(count(note.cells)),
        Inline::text(count(note.judgments)),
        Inline::text(count(note.times)),
        Inline::code(&note.sample).and(": ").and_text(excerpt(&note.example, 160)),
    ]
}
