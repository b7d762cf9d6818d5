//! Section on the changes between the base and the other variants or models (CL-10).

use karat_analysis::{Comparison, Delta, DeltaAxis, MetricDelta, TextChange, TextDelta};
use karat_types::MetricSpec;

use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures::{self, count};
use crate::shared::report::Report;
use crate::shared::visible::excerpt;
use crate::wording::comparison::verdict_word;

/// Number of texts shown of each kind. All are counted.
const TEXTS: usize = 5;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    for delta in report.findings.deltas() {
        let title = match delta.over {
            DeltaAxis::Variant => "Variant delta",
            DeltaAxis::Model => "Model delta",
            DeltaAxis::Baseline => "Since the baseline",
        };
        page.heading(2, Inline::plain(title));
        page.paragraph(Inline::plain("Each compared with ").and_code(&delta.base).and(", paired by sample, ").and(
            match delta.over {
                DeltaAxis::Variant => "model and judge.",
                DeltaAxis::Model => "variant and judge.",
                DeltaAxis::Baseline => "system by system.",
            },
        ));
        write_delta(page, report, delta);
    }
}

fn write_delta(page: &mut Page, report: Report<'_>, delta: &Delta) {
    if delta.comparisons.is_empty() {
        page.paragraph(Inline::plain("No results can be paired with it."));
    }
    if !delta.has_matches() && !delta.comparisons.is_empty() {
        let base = Inline::code(&delta.base);
        page.paragraph(
            base.and(" shares no scored sample with the others, so nothing is compared. Choose another ")
                .and_code("base")
                .and("."),
        );
        return;
    }
    for comparison in &delta.comparisons {
        page.heading(3, Inline::code(&comparison.id));
        page.paragraph(
            Inline::plain("Matched pairs of cells: ")
                .and_text(count(comparison.matched))
                .and("; without a partner: ")
                .and_text(count(comparison.unmatched))
                .and("."),
        );
        changes(page, report, comparison);
        for texts in &comparison.texts {
            write_texts(page, texts);
        }
        page.list(comparison.movers.iter().take(TEXTS).filter_map(|mover| {
            let metric = metric_of(report, &mover.metric)?;
            Some(
                Inline::code(&mover.sample)
                    .and(" moved by ")
                    .and_text(figures::signed_value(metric, mover.delta.value()))
                    .and(" in ")
                    .and_code(&mover.metric),
            )
        }));
    }
}

fn metric_of<'a>(report: Report<'a>, name: &str) -> Option<&'a MetricSpec> {
    report.metrics().map(|(_, metric)| metric).find(|metric| metric.name == name)
}

fn changes(page: &mut Page, report: Report<'_>, comparison: &Comparison) {
    let heads = [
        Column::left(Inline::plain("Metric")),
        Column::right(Inline::plain("Change")),
        Column::right(Inline::plain("Interval")),
        Column::right(Inline::plain("n")),
        Column::left(Inline::plain("Verdict")),
    ];
    let row = |(metric, it): (&MetricSpec, &MetricDelta)| {
        let delta = &it.delta;
        let interval = delta.interval().map_or(figures::NONE.to_owned(), |(lo, hi)| {
            format!("{} to {}", figures::signed_value(metric, lo), figures::signed_value(metric, hi))
        });
        vec![
            Inline::code(&metric.name),
            Inline::text(figures::signed_value(metric, delta.value())).bold(),
            Inline::text(interval),
            Inline::text(count(delta.n())),
            Inline::plain(verdict_word(it.verdict(metric.better))),
        ]
    };
    let known = comparison.metrics.iter().filter_map(|it| Some((metric_of(report, &it.metric)?, it)));
    page.table(&heads, known.map(row));
}

fn write_texts(page: &mut Page, texts: &TextDelta) {
    page.paragraph(
        Inline::code(&texts.name)
            .and(": ")
            .and_text(count(texts.base))
            .and(" before, ")
            .and_text(count(texts.other))
            .and(" after; distinct texts that appeared: ")
            .and_text(count(texts.n_appeared))
            .and(", that disappeared: ")
            .and_text(count(texts.n_disappeared))
            .and("."),
    );
    let line = |sign: &'static str| {
        move |change: &TextChange| {
            let text = excerpt(&change.text, 160);
            let line = Inline::plain(sign).and_code(&change.sample).and(": ").and_text(text);
            if change.times > 1 { line.and(" (×").and_text(count(change.times)).and(")") } else { line }
        }
    };
    let appeared = texts.appeared.iter().take(TEXTS).map(line("appeared in "));
    page.list(appeared.chain(texts.disappeared.iter().take(TEXTS).map(line("disappeared from "))));
}
