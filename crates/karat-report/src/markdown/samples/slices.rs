//! Section with the figures of parts of the dataset.

use karat_analysis::{Outcome, Slice};
use karat_types::MetricSpec;

use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures::{self, count};
use crate::shared::report::Report;

/// Number of parts shown of each column, the largest first.
const PARTS: usize = 20;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    for analysed in &report.findings.analyses {
        let Outcome::Slices(slices) = &analysed.outcome else { continue };
        page.heading(2, Inline::plain("Slices"));
        for (column, parts) in &slices.by {
            page.heading(3, Inline::plain("By ").and_code(column));
            write_parts(page, report, parts);
        }
    }
}

fn write_parts(page: &mut Page, report: Report<'_>, parts: &[Slice]) {
    let shown = |metric: &MetricSpec| parts.iter().any(|part| part.metrics.contains_key(&metric.name));
    let metrics: Vec<&MetricSpec> = report.metrics().map(|(_, metric)| metric).filter(|metric| shown(metric)).collect();
    let heads: Vec<Column> = [Column::left(Inline::plain("Part")), Column::right(Inline::plain("Samples"))]
        .into_iter()
        .chain(metrics.iter().map(|metric| Column::right(Inline::code(&metric.name))))
        .collect();
    let row = |part: &Slice| {
        let name = match &part.value {
            serde_json::Value::Null => Inline::plain("(none)"),
            serde_json::Value::String(text) => Inline::code(text),
            other => Inline::code(other.to_string()),
        };
        let figure = |metric: &&MetricSpec| {
            let found = part.metrics.get(&metric.name);
            Inline::text(found.map_or(figures::NONE.to_owned(), |it| figures::value_with_interval(metric, it)))
        };
        [name, Inline::text(count(part.samples))].into_iter().chain(metrics.iter().map(figure)).collect()
    };
    page.table(&heads, parts.iter().take(PARTS).map(row));
    if parts.len() > PARTS {
        page.paragraph(Inline::text(count((parts.len() - PARTS) as u64)).and(" smaller parts are in report.json."));
    }
}
