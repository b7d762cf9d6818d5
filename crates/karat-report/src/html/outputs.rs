//! Inputs and outputs: a block a sample, with the systems side by side.

use std::fmt::Write as _;

use super::escape;
use crate::outputs::cell_text::{CellText, Excerpt, SampleTexts, ScoreText};
use crate::outputs::each_sample;
use crate::outputs::select::select;
use crate::shared::report::{RenderError, Report};
use crate::shared::visible::visible_name;
use crate::wording::outputs::{TITLE, introduction, missing_texts};

/// Number of samples that are open when the page is opened.
const OPEN: usize = 5;

/// Returns the section, or an empty text if nothing is to be shown.
pub(super) fn section(report: Report<'_>) -> Result<String, RenderError> {
    let shown = report.context.outputs.shown.unwrap_or_default();
    let selection = select(report, shown)?;
    let Some(words) = introduction(shown, &selection) else { return Ok(String::new()) };
    let mut html = format!("<h2>{TITLE}</h2>\n<p>{}</p>\n", sentence(&words));
    let mut at = 0;
    each_sample(report, &selection, |it| {
        sample(&mut html, &it, at < OPEN);
        at += 1;
        Ok(())
    })?;
    Ok(html)
}

// Writing to a String cannot fail.
fn sample(html: &mut String, sample: &SampleTexts, is_open: bool) {
    let open = if is_open { " open" } else { "" };
    let failed = sample.cells.iter().filter(|cell| cell.is_failed).count();
    let failed = if failed > 0 { format!(" <span class=\"low\">{failed} failed</span>") } else { String::new() };
    let _ = writeln!(
        html,
        "<details class=\"sample\"{open}>\n<summary><code>{}</code>{failed}</summary>",
        escape(&visible_name(&sample.id))
    );
    let command = sample.cells.first().map_or("", |cell| cell.command.as_str());
    html.push_str("<div class=\"beside\">\n");
    for (name, text) in &sample.texts {
        let _ = writeln!(html, "<div>\n<h4>{}</h4>\n{}</div>", escape(&visible_name(name)), block(text, command));
    }
    if sample.texts.is_empty() {
        let _ = writeln!(html, "<p class=\"soft\">{}</p>", missing_texts(sample));
    }
    html.push_str("</div>\n<div class=\"beside\">\n");
    sample.cells.iter().for_each(|it| cell(html, it));
    html.push_str("</div>\n</details>\n");
}

fn cell(html: &mut String, cell: &CellText) {
    let class = if cell.is_failed { "cell failed" } else { "cell" };
    let _ =
        writeln!(html, "<article class=\"{class}\">\n<h4><code>{}</code></h4>", escape(&visible_name(&cell.system)));
    if !cell.scores.is_empty() {
        let scores: Vec<String> = cell.scores.iter().map(score).collect();
        let _ = writeln!(html, "<p class=\"scores\">{}</p>", scores.join(" "));
    }
    match (&cell.output, &cell.missing) {
        (Some(output), _) => html.push_str(&block(output, &cell.command)),
        (None, Some(missing)) => {
            let _ = write!(html, "<p class=\"soft\">no output:</p>\n{}", block(missing, &cell.command));
        }
        (None, None) => {}
    }
    let reasons = cell.reasons();
    if !reasons.is_empty() {
        html.push_str("<dl>\n");
        for (whose, text) in reasons {
            let _ = writeln!(
                html,
                "<dt>{}</dt>\n<dd>{}{}</dd>",
                escape(&whose),
                escape(&text.text),
                note(text, &cell.command)
            );
        }
        html.push_str("</dl>\n");
    }
    html.push_str("</article>\n");
}

fn score(score: &ScoreText) -> String {
    let class = if score.is_low { " class=\"low\"" } else { "" };
    format!("<span{class}>{} <b>{}</b></span>", escape(&score.metric), escape(&score.value))
}

fn block(text: &Excerpt, command: &str) -> String {
    format!("<pre tabindex=\"0\">{}</pre>\n{}", escape(&text.text), note(text, command))
}

fn note(text: &Excerpt, command: &str) -> String {
    let note = text.cut_note(command).map(|note| sentence(&note));
    note.map_or_else(String::new, |note| format!("<p class=\"soft\">{note}</p>\n"))
}

/// A sentence in which backticks enclose code.
fn sentence(text: &str) -> String {
    let part = |(at, part): (usize, &str)| {
        let part = escape(part);
        if at % 2 == 1 { format!("<code>{part}</code>") } else { part }
    };
    text.split('`').enumerate().map(part).collect()
}
