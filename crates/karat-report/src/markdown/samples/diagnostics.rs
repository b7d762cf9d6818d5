//! Section on the findings of judges about the items of outputs (SP-06, SP-07).

use karat_analysis::{Confidence, Diagnostics, Evaluation, Outcome, SpanFigures, TextCount};
use serde_json::{Map, Value};

use crate::markdown::page::{Column, Inline, Page, columns};
use crate::shared::figures::{self, NONE, Unscaled, count, percent};
use crate::shared::report::Report;
use crate::shared::visible::excerpt;

/// Number of evaluations listed as the worst.
const WORST: usize = 10;
/// Number of texts listed for each kind of finding.
const COMMON: usize = 5;
/// Length of a text, in characters.
const TEXT: usize = 60;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    for analysed in &report.findings.analyses {
        if let Outcome::Diagnostics(found) = &analysed.outcome {
            diagnostics(page, &analysed.id, found);
        }
    }
}

fn diagnostics(page: &mut Page, id: &str, found: &Diagnostics) {
    let all = &found.all;
    page.heading(2, Inline::plain("Diagnostics: ").and_code(id));
    page.paragraph(overview(all));
    distribution(page, &all.score_distribution);
    categories(page, all);
    reasons(page, &all.false_positive_reasons);
    confusions(page, all);
    sections(page, all);
    common(page, all);
    if let Some(confidence) = &all.confidence {
        write_confidence(page, id, confidence);
    }
    worst(page, all);
}

fn overview(all: &SpanFigures) -> Inline {
    let score =
        all.score.as_ref().map_or_else(|| NONE.to_owned(), |score| figures::value_with_method(&Unscaled, score));
    let line = Inline::text(count(all.evaluated))
        .and(" outputs with ")
        .and_text(figures::value_or_none(&Unscaled, all.avg_span_count))
        .and(" items on average; mean score ")
        .and_text(score)
        .and(". Without a verdict or an output: ")
        .and_text(count(all.error_count))
        .and("; with a verdict of which only a part counts: ")
        .and_text(count(all.degraded))
        .and(".");
    let Some(latency) = all.latency_ms else { return line };
    let milliseconds = |value: f64| format!("{} ms", figures::value(&Unscaled, value));
    line.and(" Latency: mean ")
        .and_text(milliseconds(latency.avg))
        .and(", p50 ")
        .and_text(milliseconds(latency.p50))
        .and(", p95 ")
        .and_text(milliseconds(latency.p95))
        .and(", p99 ")
        .and_text(milliseconds(latency.p99))
        .and(".")
}

fn counts_by_name(counts: &Map<String, Value>) -> impl Iterator<Item = (&String, u64)> {
    counts.iter().map(|(name, n)| (name, n.as_u64().unwrap_or(0)))
}

fn distribution(page: &mut Page, bands: &Map<String, Value>) {
    let total: u64 = counts_by_name(bands).map(|(_, n)| n).sum();
    if total == 0 {
        return;
    }
    page.heading(3, Inline::plain("Distribution of scores"));
    let rows = counts_by_name(bands).map(|(band, n)| {
        vec![Inline::text(band), Inline::text(count(n)), Inline::text(percent(n as f64 / total as f64))]
    });
    page.table(&columns(&["Score", "Outputs", "Share"]), rows);
}

fn categories(page: &mut Page, all: &SpanFigures) {
    let Some((_, first)) = all.avg_category_scores.iter().next() else { return };
    page.heading(3, Inline::plain("Categories"));
    let heads: Vec<Column> = std::iter::once(Column::left(Inline::plain("Category")))
        .chain(first.scores.names().map(|name| Column::right(Inline::code(name))))
        .chain([Column::right(Inline::plain("Assessed"))])
        .collect();
    let rows = all.avg_category_scores.iter().map(|(category, of)| {
        let scores = of.scores.iter().map(|(_, score)| Inline::text(figures::value_or_none(&Unscaled, *score)));
        std::iter::once(Inline::code(category)).chain(scores).chain([Inline::text(count(of.n))]).collect()
    });
    page.table(&heads, rows);
}

fn reasons(page: &mut Page, reasons: &Map<String, Value>) {
    if !reasons.is_empty() {
        page.heading(3, Inline::plain("Reasons"));
        let rows = counts_by_name(reasons).map(|(reason, n)| vec![Inline::code(reason), Inline::text(count(n))]);
        page.table(&columns(&["Reason", "Count"]), rows);
    }
}

fn confusions(page: &mut Page, all: &SpanFigures) {
    if all.top_taxonomy_errors.is_empty() {
        return;
    }
    page.heading(3, Inline::plain("Confusions"));
    let heads = [
        Column::left(Inline::plain("Said → right")),
        Column::right(Inline::plain("Count")),
        Column::left(Inline::plain("Examples")),
    ];
    let rows = all.top_taxonomy_errors.iter().map(|it| {
        let label = it.fields.values().filter_map(Value::as_str).collect::<Vec<_>>().join(" → ");
        let label = if it.equal { format!("{label} (the same: no confusion)") } else { label };
        let examples = it.examples.iter().map(|text| Inline::text(excerpt(text, TEXT)));
        vec![Inline::text(label), Inline::text(count(it.count)), Inline::list(examples)]
    });
    page.table(&heads, rows);
}

fn sections(page: &mut Page, all: &SpanFigures) {
    let first = all.errors_by_section.iter().next().filter(|(_, labels)| !labels.is_empty());
    let Some((_, labels)) = first else { return };
    page.heading(3, Inline::plain("Errors by section"));
    let heads: Vec<Column> = [Column::left(Inline::plain("Section")), Column::right(Inline::plain("Items"))]
        .into_iter()
        .chain(labels.names().map(|label| Column::right(Inline::code(label).and(" (an item)"))))
        .collect();
    let rows = all.errors_by_section.iter().map(|(section, errors)| {
        let items = all.spans_by_section.get(section).copied().unwrap_or(0);
        let rate = |label: &str, n: u64| match all.count_assessed(section, label) {
            0 => NONE.to_owned(),
            base => format!("{:.3}", n as f64 / base as f64),
        };
        let errors = errors.iter().map(|(label, n)| Inline::text(format!("{} ({})", count(*n), rate(label, *n))));
        [Inline::code(section), Inline::text(count(items))].into_iter().chain(errors).collect()
    });
    page.table(&heads, rows);
}

fn common(page: &mut Page, all: &SpanFigures) {
    let often = |it: &TextCount| Inline::text(excerpt(&it.text, TEXT)).and(" × ").and_text(count(it.count));
    let named = all.common.iter().filter(|(_, texts)| !texts.is_empty());
    let lines: Vec<Inline> = named
        .map(|(list, texts)| Inline::code(list).and(": ").then(Inline::list(texts.iter().take(COMMON).map(often))))
        .collect();
    if !lines.is_empty() {
        page.heading(3, Inline::plain("Named most often"));
        page.list(lines);
    }
}

fn write_confidence(page: &mut Page, id: &str, confidence: &Confidence) {
    page.heading(3, Inline::plain("Does confidence predict errors?"));
    let rows = confidence.buckets.by_name().map(|(name, bucket)| {
        let (from, to) = bucket.range;
        vec![
            Inline::text(format!("{name}, {from} to {to}")),
            Inline::text(count(bucket.total)),
            Inline::text(count(bucket.errors)),
            Inline::text(bucket.error_rate.map_or_else(|| NONE.to_owned(), percent)),
            Inline::text(count(bucket.any_error)),
        ]
    });
    page.table(&columns(&["Confidence", "Items", "Errors", "Error rate", "Any finding"]), rows);
    let mut lines = vec![Inline::text(excerpt(&confidence.notes, 300)).and(".")];
    if let Some(best) = confidence.best_threshold {
        lines.push(
            Inline::plain("Best F1 of keeping right items: ")
                .and_text(format!("{:.3}", best.f1))
                .and(" by keeping the ")
                .and_text(count(best.kept))
                .and(" from ")
                .and_text(best.threshold.to_string())
                .and(" on."),
        );
    }
    if let Some(ece) = &confidence.ece {
        lines.push(
            Inline::plain("Expected calibration error: ")
                .and_text(figures::value_with_method(&Unscaled, ece))
                .and("; the reliability curve is in ")
                .and_code(crate::shared::reliability_curve::file_name(id))
                .and("."),
        );
    }
    lines.push(
        Inline::plain("Items in no bucket: ")
            .and_text(count(confidence.missing))
            .and(" without a confidence, ")
            .and_text(count(confidence.out_of_range))
            .and(" with one that is no number from 0 to 1. Errors that name no item: ")
            .and_text(count(confidence.unlocated))
            .and("."),
    );
    page.list(lines);
}

fn worst(page: &mut Page, all: &SpanFigures) {
    let worst = all.worst(WORST);
    if worst.is_empty() {
        return;
    }
    page.heading(3, Inline::plain("Worst performers"));
    let heads: Vec<Column> = [
        Column::left(Inline::plain("Sample")),
        Column::right(Inline::plain("Score")),
        Column::right(Inline::plain("Items")),
    ]
    .into_iter()
    .chain(all.common.names().map(|name| Column::right(Inline::code(name))))
    .collect();
    let rows = worst.iter().map(|it| {
        let found = |name| it.findings.get(name).map_or_else(|| NONE.to_owned(), |n| count(*n));
        let findings = all.common.names().map(|name| Inline::text(found(name)));
        let score = Inline::text(figures::value_or_none(&Unscaled, it.score)).bold();
        [sample(it), score, Inline::text(it.span_count.map_or_else(|| NONE.to_owned(), count))]
            .into_iter()
            .chain(findings)
            .collect()
    });
    page.table(&heads, rows);
}

fn sample(evaluation: &Evaluation) -> Inline {
    let sample = Inline::code(&evaluation.sample);
    evaluation.system.as_ref().map_or(sample.clone(), |system| sample.and(" × ").and_code(system))
}
