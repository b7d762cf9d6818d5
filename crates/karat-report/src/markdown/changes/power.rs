//! Section on power: the differences that the samples can detect, and the samples that a wanted difference needs
//! (BY-16).

use karat_analysis::Outcome;
use karat_analysis::planning::MetricPower;

use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures::{self, count, percent};
use crate::shared::report::Report;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    for analysed in &report.findings.analyses {
        let Outcome::Power(power) = &analysed.outcome else { continue };
        let Some(first) = power.metrics.first() else { continue };
        page.heading(2, Inline::plain("Power"));
        page.paragraph(
            Inline::plain("Differences between two systems that this many paired samples can detect with ")
                .and_text(percent(first.power))
                .and(" power at the ")
                .and_text(percent(first.level))
                .and(" level."),
        );
        let heads = [
            Column::left(Inline::plain("Metric")),
            Column::right(Inline::plain("Samples")),
            Column::right(Inline::plain("Detectable")),
            Column::right(Inline::plain("Standard deviation of a difference")),
            Column::left(Inline::plain("Wanted difference")),
        ];
        page.table(&heads, power.metrics.iter().map(row));
    }
}

fn row(metric: &MetricPower) -> Vec<Inline> {
    let clusters =
        |clusters: Option<u64>| clusters.map_or_else(String::new, |it| format!(" in {} clusters", count(it)));
    let wanted = match (&metric.needed, metric.wanted) {
        (Some(needed), _) => Inline::text(figures::value(metric, needed.difference))
            .and(" needs ")
            .and_text(count(needed.samples) + &clusters(needed.clusters))
            .and_text(needed.pairs.map_or_else(String::new, |it| format!(", {} of them with a score", count(it)))),
        (None, Some(wanted)) => Inline::text(figures::value(metric, wanted)).and(" needs more than 10¹² samples"),
        (None, None) => Inline::default(),
    };
    vec![
        Inline::code(&metric.metric),
        Inline::text(count(metric.samples) + &clusters(metric.clusters)),
        Inline::text(figures::value_or_none(metric, metric.detectable)),
        Inline::text(format!("{} ({})", figures::value(metric, metric.deviation.value()), metric.deviation.method())),
        wanted,
    ]
}
