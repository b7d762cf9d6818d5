//! Section with inputs, outputs, references, scores and reasons, sample by sample.

use crate::markdown::page::{Inline, Page};
use crate::outputs::cell_text::{CellText, Excerpt, SampleTexts};
use crate::outputs::each_sample;
use crate::outputs::select::select;
use crate::shared::report::{RenderError, Report};
use crate::wording::outputs::{TITLE, introduction, missing_texts};

/// Writes the section, unless nothing is to be shown.
pub(super) fn write(page: &mut Page, report: Report<'_>) -> Result<(), RenderError> {
    let shown = report.context.outputs.shown.unwrap_or_default();
    let selection = select(report, shown)?;
    if let Some(words) = introduction(shown, &selection) {
        page.heading(2, Inline::plain(TITLE));
        page.paragraph(Inline::sentence(&words));
        each_sample(report, &selection, |it| {
            sample(page, &it);
            Ok(())
        })?;
    }
    Ok(())
}

fn sample(page: &mut Page, sample: &SampleTexts) {
    page.heading(3, Inline::plain("Sample ").and_code(&sample.id));
    let command = sample.cells.first().map_or("", |cell| cell.command.as_str());
    for (name, text) in &sample.texts {
        block(page, Inline::text(name).bold(), text, command);
    }
    if sample.texts.is_empty() {
        page.paragraph(Inline::plain(missing_texts(sample)));
    }
    sample.cells.iter().for_each(|it| cell(page, it));
}

fn cell(page: &mut Page, cell: &CellText) {
    let scores = cell.scores.iter().map(|score| {
        let piece = Inline::code(&score.metric).and(" ").and_text(&score.value);
        if score.is_low { piece.bold() } else { piece }
    });
    let title = Inline::code(&cell.system);
    let title = match cell.flag() {
        Some(flag) => title.and(" (").and(flag).and("): "),
        None => title.and(": "),
    };
    let title = title.then(Inline::list(scores));
    match (&cell.output, &cell.missing) {
        (Some(output), _) => block(page, title, output, &cell.command),
        (None, Some(missing)) => block(page, title.and("no output:"), missing, &cell.command),
        (None, None) => page.paragraph(title),
    }
    page.list(cell.reasons().into_iter().map(|(whose, text)| {
        let note = text.cut_note(&cell.command).map_or_else(String::new, |note| format!(" ({note})"));
        Inline::code(&whose).and(": ").and_text(&text.text).and_text(note)
    }));
}

fn block(page: &mut Page, title: Inline, text: &Excerpt, command: &str) {
    page.paragraph(match text.cut_note(command) {
        Some(note) => title.and(" (").then(Inline::sentence(&note)).and(")"),
        None => title,
    });
    page.code_fence("text", &text.text);
}
