//! What judges found wrong with the items of outputs, and corpora of sessions.

use karat_analysis::{Confidence, Diagnostics, Outcome, SummaryCorpus};
use serde_json::Value;

use super::page::{Column, Inline, Page, columns};
use crate::figures::{NONE, count};
use crate::report::Report;
use crate::visible::brief;

/// Sessions that are listed; `report.json` has all.
const SESSIONS: usize = 40;

pub(super) fn write(page: &mut Page, report: Report<'_>) {
    for analysed in &report.findings.analyses {
        match &analysed.outcome {
            Outcome::Diagnostics(found) => diagnostics(page, &analysed.id, found),
            Outcome::SummaryCorpus(corpus) => sessions(page, corpus),
            _ => {}
        }
    }
}

fn number(value: Option<f64>) -> Inline {
    Inline::text(value.map_or_else(|| NONE.to_owned(), |value| format!("{value:.3}")))
}

fn sessions(page: &mut Page, corpus: &SummaryCorpus) {
    page.heading(2, Inline::plain("Sessions"));
    page.paragraph(
        Inline::text(count(corpus.corpus_size))
            .and(" sessions; overall mean ")
            .then(number(corpus.overall_mean))
            .and(", lowest ")
            .then(number(corpus.overall_min))
            .and(", highest ")
            .then(number(corpus.overall_max))
            .and("."),
    );
    let names = corpus.dimension_means.keys().map(|name| Column::right(Inline::code(name)));
    let heads: Vec<Column> = [Column::left(Inline::plain("Session")), Column::right(Inline::plain("Overall"))]
        .into_iter()
        .chain(names)
        .collect();
    let mut worst: Vec<_> = corpus.sessions.iter().collect();
    worst.sort_by(|a, b| {
        a.overall.unwrap_or(0.0).total_cmp(&b.overall.unwrap_or(0.0)).then_with(|| a.name.cmp(&b.name))
    });
    let rows = worst.into_iter().take(SESSIONS).map(|session| {
        let score = |name: &String| session.dimensions.iter().find(|it| it.dimension == *name).and_then(|it| it.score);
        let scores = corpus.dimension_means.keys().map(|name| number(score(name)));
        [Inline::code(&session.name), number(session.overall).bold()].into_iter().chain(scores).collect()
    });
    page.table(&heads, rows);
}

fn diagnostics(page: &mut Page, id: &str, found: &Diagnostics) {
    let all = &found.all;
    page.heading(2, Inline::plain("Diagnostics: ").and_code(id));
    page.paragraph(
        Inline::text(count(all.evaluated))
            .and(" evaluated, mean score ")
            .then(number(all.avg_score))
            .and(", mean number of items ")
            .then(number(all.avg_span_count))
            .and("; without a verdict or an output: ")
            .and_text(count(all.error_count))
            .and(", verdicts of which only a part counts: ")
            .and_text(count(all.degraded))
            .and("."),
    );
    counts(page, "Reason", all.false_positive_reasons.iter());
    if !all.top_taxonomy_errors.is_empty() {
        let rows = all.top_taxonomy_errors.iter().map(|it| {
            let said = it.fields.values().filter_map(Value::as_str).collect::<Vec<_>>().join(" → ");
            let examples = it.examples.iter().map(|text| Inline::text(brief(text, 60)));
            vec![Inline::text(said), Inline::text(count(it.count)), Inline::list(examples)]
        });
        page.table(&columns(&["Confusion", "Count", "Examples"]), rows);
    }
    let rows = all.errors_by_section.iter().map(|(section, errors)| {
        let errors = errors.iter().map(|(name, n)| Inline::code(name).and(" ").and_text(count(*n)));
        let items = all.spans_by_section.get(section).copied().unwrap_or(0);
        vec![Inline::code(section), Inline::text(count(items)), Inline::list(errors)]
    });
    page.table(&columns(&["Section", "Items", "Findings"]), rows);
    if let Some(confidence) = &all.confidence {
        write_confidence(page, id, confidence);
    }
}

fn counts<'a>(page: &mut Page, head: &'static str, counts: impl Iterator<Item = (&'a String, &'a Value)>) {
    let rows: Vec<Vec<Inline>> =
        counts.map(|(name, n)| vec![Inline::code(name), Inline::text(count(n.as_u64().unwrap_or(0)))]).collect();
    if !rows.is_empty() {
        page.table(&columns(&[head, "Count"]), rows);
    }
}

fn write_confidence(page: &mut Page, id: &str, confidence: &Confidence) {
    let buckets =
        [("high", confidence.buckets.high), ("medium", confidence.buckets.medium), ("low", confidence.buckets.low)];
    let rows = buckets.map(|(name, bucket)| {
        let (from, to) = bucket.range;
        vec![
            Inline::plain(name).and_text(format!(" {from} to {to}")),
            Inline::text(count(bucket.total)),
            Inline::text(count(bucket.errors)),
            number(bucket.error_rate),
            Inline::text(count(bucket.any_error)),
        ]
    });
    page.table(&columns(&["Confidence", "Items", "Errors", "Error rate", "Any finding"]), rows);
    page.paragraph(
        Inline::text(brief(&confidence.notes, 300))
            .and(". Without a confidence: ")
            .and_text(count(confidence.missing))
            .and(". The curve of stated confidence against the share that is right lies beside this report in the file that ends in ")
            .and_code(crate::reliability::file_name(id))
            .and("."),
    );
}
