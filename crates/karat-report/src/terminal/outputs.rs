//! The texts of cells for a terminal: the systems of a sample one under the other.

use std::fmt::Write as _;

use crate::outputs::cell_text::{CellText, Excerpt, SampleTexts};
use crate::outputs::each_sample;
use crate::outputs::select::{Selection, Thresholds, select};
use crate::shared::report::{RenderError, Report};
use crate::shared::visible::visible_name;
use crate::wording::outputs::{introduction, missing_texts};

/// Calls `each` with the text of one sample after the other, and first with a sentence that says what is shown. The
/// context's outputs choose the cells.
///
/// # Errors
/// Rows that cannot be read, and errors of `each`.
pub fn outputs(report: Report<'_>, each: &mut dyn FnMut(&str) -> Result<(), RenderError>) -> Result<(), RenderError> {
    let shown = report.context.outputs.shown.unwrap_or_default();
    let selection = select(report, shown)?;
    if let Some(words) = introduction(shown, &selection) {
        each(&format!("{words}\n"))?;
    }
    each_sample(report, &selection, |it| each(&text(&it)))
}

/// Returns every cell of one sample as text, or `None` if the run has no cell of it.
///
/// # Errors
/// Rows that cannot be read.
pub fn sample_outputs(report: Report<'_>, sample: &str) -> Result<Option<String>, RenderError> {
    let mut selection =
        Selection { ordinals: Vec::new(), failed: 0, of: 0, asked: 0, thresholds: Thresholds::of(report) };
    report.cells().each_row(|row| {
        selection.ordinals.extend((row.sample.id == sample).then_some(row.cell.ordinal));
        Ok(())
    })?;
    let mut found = None;
    each_sample(report, &selection, |it| {
        found.get_or_insert_with(String::new).push_str(&text(&it));
        Ok(())
    })?;
    Ok(found)
}

fn text(sample: &SampleTexts) -> String {
    let mut text = format!("sample {}\n", visible_name(&sample.id));
    let command = sample.cells.first().map_or("", |cell| cell.command.as_str());
    for (name, it) in &sample.texts {
        block(&mut text, &visible_name(name), it, command);
    }
    if sample.texts.is_empty() {
        let _ = writeln!(text, "{}", missing_texts(sample));
    }
    for it in &sample.cells {
        cell(&mut text, it);
    }
    text.push('\n');
    text
}

// Writing to a String cannot fail.
fn cell(text: &mut String, cell: &CellText) {
    let flag = cell.flag().map_or_else(String::new, |flag| format!(", {flag}"));
    let _ = writeln!(text, "\n── {} (cell {}{flag}) ──", visible_name(&cell.system), cell.ordinal);
    let scores: Vec<String> = cell.scores.iter().map(|it| format!("{} {}", it.metric, it.value)).collect();
    if !scores.is_empty() {
        let _ = writeln!(text, "scores: {}", scores.join(", "));
    }
    match (&cell.output, &cell.missing) {
        (Some(output), _) => block(text, "output", output, &cell.command),
        (None, Some(missing)) => block(text, "no output", missing, &cell.command),
        (None, None) => {}
    }
    for (whose, reason) in cell.reasons() {
        block(text, &format!("reason of {whose}"), reason, &cell.command);
    }
}

/// Appends a titled text, indented so that its end can be seen.
fn block(text: &mut String, title: &str, of: &Excerpt, command: &str) {
    let note = of.cut_note(command).map_or_else(String::new, |note| format!(" ({note})"));
    let mut lines = of.text.lines();
    match (lines.next(), lines.next()) {
        (first, None) if title.len() + first.map_or(0, str::len) < 72 => {
            let _ = writeln!(text, "{title}: {}{note}", first.unwrap_or_default());
        }
        _ => {
            let _ = writeln!(text, "{title}{note}:");
            of.text.lines().for_each(|line| {
                let _ = writeln!(text, "  {line}");
            });
        }
    }
}
