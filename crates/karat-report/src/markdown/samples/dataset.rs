//! Sections on the dataset: its balance, figures of its parts, and contradictions with files.

use karat_analysis::{Balance, Outcome, Slices};
use serde_json::Value;

use crate::markdown::page::{Column, Inline, Page, columns};
use crate::shared::figures::{self, count, percent};
use crate::shared::report::Report;
use crate::shared::visible::excerpt;

/// Number of values listed of a column.
const VALUES: usize = 20;
/// Number of metrics that get a column in the table of a column's parts.
const METRICS: usize = 8;
/// Number of contradictions listed.
const MISMATCHES: usize = 10;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    for analysed in &report.findings.analyses {
        match &analysed.outcome {
            Outcome::Slices(found) => slices(page, report, found),
            Outcome::Balance(found) => balance(page, found),
            _ => {}
        }
    }
    mismatches(page, report);
}

/// Returns a value of a column as text.
fn label(value: &Value) -> Inline {
    match value {
        Value::Null => Inline::plain("(none)"),
        Value::String(text) => Inline::text(excerpt(text, 60)),
        other => Inline::text(excerpt(&other.to_string(), 60)),
    }
}

fn slices(page: &mut Page, report: Report<'_>, found: &Slices) {
    let shown = |name: &str| found.by.values().flatten().any(|slice| slice.metrics.contains_key(name));
    let metrics: Vec<_> =
        report.metrics().map(|(_, metric)| metric).filter(|metric| shown(&metric.name)).take(METRICS).collect();
    for (column, parts) in found.by.iter().filter(|(_, parts)| !parts.is_empty()) {
        page.heading(2, Inline::plain("By ").and_code(column));
        let mut heads = columns(&["Value", "Samples"]);
        heads.extend(metrics.iter().map(|metric| Column::right(Inline::code(&metric.name))));
        let rows = parts.iter().take(VALUES).map(|slice| {
            let figure = |name: &str| slice.metrics.get(name).map(karat_analysis::Finding::value);
            let mut row = vec![label(&slice.value), Inline::text(count(slice.samples))];
            row.extend(metrics.iter().map(|metric| Inline::text(figures::value_or_none(metric, figure(&metric.name)))));
            row
        });
        page.table(&heads, rows);
    }
}

fn balance(page: &mut Page, found: &Balance) {
    page.heading(2, Inline::plain("Balance of the dataset"));
    for (column, balance) in &found.by {
        let portion = |portion: &karat_analysis::ValueShare| {
            vec![label(&portion.value), Inline::text(count(portion.samples)), Inline::text(percent(portion.share))]
        };
        let mut heads = vec![Column::left(Inline::code(column))];
        heads.extend(columns(&["", "Samples", "Share"]).into_iter().skip(1));
        page.table(&heads, balance.values.iter().take(VALUES).map(portion));
        if balance.missing > 0 {
            page.paragraph(Inline::text(count(balance.missing)).and(" samples have no value."));
        }
    }
}

fn mismatches(page: &mut Page, report: Report<'_>) {
    let mismatches = &report.findings.plan.dataset.mismatches;
    if mismatches.is_empty() {
        return;
    }
    page.heading(2, Inline::plain("Contradictions between expected values and files"));
    let line = |it: &karat_types::Mismatch| Inline::code(&it.sample).and(": ").and_text(excerpt(&it.what, 200));
    page.list(mismatches.first.iter().take(MISMATCHES).map(line));
    let more = mismatches.count.saturating_sub(MISMATCHES as u64);
    if more > 0 {
        page.paragraph(Inline::text(count(more)).and(" more are in report.json."));
    }
}
