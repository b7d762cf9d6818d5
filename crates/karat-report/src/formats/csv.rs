//! cells.csv: one row a cell, one column a metric, for spreadsheets.

use std::io::Write;

use karat_analysis::CellScores;
use karat_types::{CellRow, CellStatus, SampleText, Score};

use crate::outputs::cell_text::{CellText, Excerpt, texts_of};
use crate::outputs::select::Thresholds;
use crate::shared::report::{RenderError, Report, ShownOutputs};
use crate::shared::visible::{MESSAGE, exact_name, excerpt};

/// Number of characters of a text in a field. Spreadsheets hold 32,767 in all.
const FIELD: usize = 15_000;

/// Writes the run's cells as CSV (RFC 4180, UTF-8). An empty field under a metric means *not applicable* or
/// *unscored*; the column `unscored` names the latter. The last columns hold input, output, reference and reasons. Texts that a spreadsheet would compute get an apostrophe in
/// front.
///
/// # Errors
/// Rows that cannot be read, bytes that cannot be written.
pub fn write(report: Report<'_>, out: &mut dyn Write) -> Result<(), RenderError> {
    let mut head = vec!["cell", "sample", "model", "variant", "trial", "status"];
    head.extend(report.metrics().map(|(_, metric)| metric.name.as_str()));
    head.extend(["unscored", "input_tokens", "output_tokens", "cost_usd", "error"]);
    head.extend(["input", "output", "reference", "reasons"]);
    line(head.into_iter().map(text), out)?;
    let (thresholds, shown) = (Thresholds::of(report), report.context.outputs.shown.unwrap_or(ShownOutputs::All));
    report.cells().each_row(|row| {
        let scores = CellScores::of(&report.findings.plan, &row);
        let has_texts = match shown {
            ShownOutputs::All => true,
            ShownOutputs::Failed => thresholds.failure(&row, &scores).is_some(),
            ShownOutputs::None => false,
        };
        let mut fields = fields(report, &row, &scores);
        fields.extend(if has_texts { texts(report, &thresholds, &row)? } else { Default::default() });
        line(fields.into_iter(), out)
    })
}

/// Returns the run's cells as CSV.
///
/// # Errors
/// Rows that cannot be read.
pub fn render(report: Report<'_>) -> Result<String, RenderError> {
    let mut bytes = Vec::new();
    write(report, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn fields(report: Report<'_>, row: &CellRow<'_>, scores: &CellScores) -> Vec<String> {
    let plan = &report.findings.plan;
    let status = match row.cell.status {
        CellStatus::Ok => "ok",
        CellStatus::Error => "error",
        CellStatus::Skipped => "skipped",
    };
    let mut fields = vec![
        row.cell.ordinal.to_string(),
        no_formula(exact_name(&row.sample.id)),
        text(plan.system_model(row.system).map_or("", |model| &model.id)),
        text(plan.system_variant(row.system)),
        row.trial.to_string(),
        status.to_owned(),
    ];
    fields.extend(
        report.metrics().map(|(at, _)| scores.number(at).map_or_else(String::new, |number| number.to_string())),
    );
    let unscored =
        report.metrics().filter(|(at, _)| matches!(scores.scores.get(*at), Some(Some(Score::Unscored { .. }))));
    let names: Vec<&str> = unscored.map(|(_, metric)| metric.name.as_str()).collect();
    let cost = row.cell.cost;
    fields.extend([
        text(&names.join(" ")),
        cost.usage.input_tokens.to_string(),
        cost.usage.output_tokens.to_string(),
        cost.cost.map_or_else(String::new, |cost| cost.usd().to_string()),
        row.cell.error.as_ref().map_or_else(String::new, |error| text(&format!("{}: {}", error.code, error.message))),
    ]);
    fields
}

/// Returns input, output, reference and reasons of a cell.
fn texts(report: Report<'_>, thresholds: &Thresholds<'_>, row: &CellRow<'_>) -> Result<[String; 4], RenderError> {
    let cell = CellText::with_limit(report, thresholds, row, FIELD)?;
    let (reference, inputs): (Vec<_>, Vec<_>) =
        texts_of(row.sample, FIELD).into_iter().partition(|(name, _)| SampleText::is_name_expected(name));
    let plain = |text: &Excerpt| match text.cut_note(&cell.command) {
        Some(note) => format!("{} … ({})", text.text, note.replace('`', "")),
        None => text.text.clone(),
    };
    let named = |(name, text): &(String, Excerpt)| {
        if name == SampleText::INPUT || name == SampleText::REFERENCE {
            plain(text)
        } else {
            format!("{}: {}", name.strip_prefix(SampleText::EXPECTED).unwrap_or(name), plain(text))
        }
    };
    let join = |texts: &[(String, Excerpt)]| texts.iter().map(named).collect::<Vec<_>>().join("\n\n");
    let reasons = cell.reasons().into_iter().map(|(whose, text)| format!("{whose}: {}", plain(text)));
    let reasons = reasons.collect::<Vec<_>>().join("\n");
    let output = cell.output.as_ref().map_or_else(String::new, plain);
    Ok([join(&inputs), output, join(&reference), reasons].map(|text| no_formula(fit(text))))
}

/// Cuts a text to what a spreadsheet holds in a field.
fn fit(text: String) -> String {
    match text.char_indices().nth(2 * FIELD) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn line(fields: impl Iterator<Item = String>, out: &mut dyn Write) -> Result<(), RenderError> {
    let quoted: Vec<String> = fields.map(|field| quote(&field)).collect();
    out.write_all(quoted.join(",").as_bytes())?;
    Ok(out.write_all(b"\r\n")?)
}

/// Returns the items of a test set as CSV, one row an item.
pub fn items(analysis: &karat_analysis::items::ItemAnalysis) -> String {
    let head = [
        "item",
        "systems",
        "runs",
        "difficulty",
        "difficulty_lo",
        "difficulty_hi",
        "discrimination",
        "discrimination_lo",
        "discrimination_hi",
        "trial_noise",
        "judge_disagreement",
        "cells",
        "unscored",
        "flags",
        "evidence",
    ];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for item in &analysis.items {
        let value =
            |found: &Option<karat_analysis::Finding>| found.as_ref().map_or(String::new(), |it| it.value().to_string());
        let bounds = |found: &Option<karat_analysis::Finding>| {
            let (lo, hi) = found.as_ref().and_then(karat_analysis::Finding::interval).unzip();
            [lo, hi].map(|bound| bound.map_or(String::new(), |bound| bound.to_string()))
        };
        let mut fields = vec![no_formula(exact_name(&item.id)), item.systems.to_string(), item.runs.to_string()];
        fields.push(value(&item.difficulty));
        fields.extend(bounds(&item.difficulty));
        fields.push(value(&item.discrimination));
        fields.extend(bounds(&item.discrimination));
        fields.extend([value(&item.trial_noise), value(&item.judge_disagreement)]);
        fields.extend([item.cells.to_string(), item.unscored.to_string()]);
        fields.push(item.flags.iter().map(|flag| flag.flag.name()).collect::<Vec<_>>().join(" "));
        let evidence: Vec<&str> = item.flags.iter().map(|flag| flag.evidence.as_str()).collect();
        fields.push(text(&evidence.join("; ")));
        lines.push(fields);
    }
    let line = |fields: Vec<String>| fields.iter().map(|field| quote(field)).collect::<Vec<_>>().join(",") + "\r\n";
    lines.into_iter().map(line).collect()
}

/// Returns a text from outside on one line, in a form that no spreadsheet takes for a formula.
fn text(text: &str) -> String {
    no_formula(excerpt(text, MESSAGE))
}

/// A field of CSV with a text from outside, which no spreadsheet takes for a formula.
pub fn csv_field(text: &str) -> String {
    quote(&no_formula(text.to_owned()))
}

/// A plain number stays one: nothing is computed of it.
fn no_formula(text: String) -> String {
    let is_number = || {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(&text);
        digits.starts_with(|char: char| char.is_ascii_digit()) && digits.parse::<f64>().is_ok()
    };
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number() { format!("'{text}") } else { text }
}

fn quote(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F101: a negative number stays a number; what a spreadsheet would compute gets an apostrophe.
    #[test]
    fn numbers_are_no_formulas() {
        for (text, field) in
            [("-5", "-5"), ("+1.5e3", "+1.5e3"), ("-1+2", "'-1+2"), ("=A1", "'=A1"), ("-", "'-"), ("-inf", "'-inf")]
        {
            assert_eq!(csv_field(text), field, "{text}");
        }
    }
}
