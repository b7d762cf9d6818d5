//! Section on judge cascades (SL-23).

use karat_analysis::{Cascade, CascadeMetric, CascadeSystem, Outcome};
use karat_types::MetricSpec;

use crate::markdown::page::{Column, Inline, Page};
use crate::shared::cascade::{cascade_line, cascade_text};
use crate::shared::figures::{NONE, count, value_with_interval};
use crate::shared::report::Report;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    for analysed in &report.findings.analyses {
        let Outcome::Cascades(found) = &analysed.outcome else { continue };
        for cascade in &found.scorers {
            page.heading(2, Inline::plain("Judge cascade of ").and_code(&cascade.scorer));
            write_cascade(page, report, cascade);
        }
    }
}

fn write_cascade(page: &mut Page, report: Report<'_>, cascade: &Cascade) {
    page.paragraph(Inline::text(cascade_text(cascade)));
    let plan = &report.findings.plan;
    let each = || {
        cascade.systems.iter().flat_map(|system| {
            system.metrics.iter().filter_map(move |it| Some((system, it, plan.metrics.get(plan.metric(&it.metric)?)?)))
        })
    };
    page.list(each().map(|(system, it, metric)| Inline::text(cascade_line(cascade, system, it, metric))));
    let heads = [
        Column::left(Inline::plain("Metric")),
        Column::left(Inline::plain("System")),
        Column::right(Inline::plain("Estimate")),
        Column::right(Inline::plain("First alone")),
        Column::right(Inline::plain("Unsure")),
        Column::right(Inline::plain("Drawn")),
        Column::right(Inline::plain("Not asked")),
        Column::right(Inline::plain("Correlation")),
        Column::right(Inline::plain("Times as wide")),
    ];
    page.table(&heads, each().map(|(system, it, metric)| row(system, it, metric)));
}

fn row(system: &CascadeSystem, it: &CascadeMetric, metric: &MetricSpec) -> Vec<Inline> {
    let number = |number: Option<f64>| number.map_or(NONE.to_owned(), |number| format!("{number:.2}"));
    let figure = it.figure.as_ref().map_or(NONE.to_owned(), |figure| value_with_interval(metric, figure));
    vec![
        Inline::code(&it.metric),
        Inline::code(&system.system),
        Inline::text(figure),
        Inline::text(number(it.first_mean)),
        Inline::text(count(system.unsure)),
        Inline::text(count(system.drawn)),
        Inline::text(count(system.not_asked)),
        Inline::text(number(it.correlation)),
        Inline::text(number(it.width_ratio)),
    ]
}
