//! Power as a table: the differences that the samples can detect, and the samples that a wanted difference needs.

use karat_analysis::Power;
use karat_analysis::planning::MetricPower;
use karat_page::block::{Block, Cell, Column, Head};
use karat_page::number;

use crate::blocks::build::{numbers, table, value};
use crate::shared::report::Report;
use crate::shared::scales;

pub(in crate::blocks) fn blocks(report: Report<'_>, power: &Power) -> Vec<Block> {
    let head = Head::new("Power", "Which differences could these samples show?");
    let head = match power.metrics.first() {
        Some(first) => head.with_note(format!(
            "Differences between two systems that paired samples detect with {} power at the {} level.",
            number::percent(first.power),
            number::percent(first.level)
        )),
        None => head,
    };
    let mut columns = numbers("Metric", ["Samples", "Detectable", "Standard deviation of a difference"]);
    columns.push(Column::text("Wanted difference"));
    vec![table(head, columns, power.metrics.iter().map(|metric| row(report, metric)))]
}

fn row(report: Report<'_>, metric: &MetricPower) -> Vec<Cell> {
    let scale = scales::scale_named(&report.findings.plan, &metric.metric);
    let wanted = match (&metric.needed, metric.wanted) {
        (Some(needed), _) => {
            let clusters = needed.clusters.map_or_else(String::new, |it| format!(" in {} clusters", number::count(it)));
            let pairs =
                needed.pairs.map_or_else(String::new, |it| format!(", {} of them with a score", number::count(it)));
            format!(
                "{} needs {} samples{clusters}{pairs}",
                scale.text(needed.difference),
                number::count(needed.samples)
            )
        }
        (None, Some(wanted)) => format!("{} needs more than 10¹² samples", scale.text(wanted)),
        (None, None) => String::new(),
    };
    vec![
        Cell::text(&metric.metric),
        match metric.clusters {
            Some(clusters) => {
                Cell::Text(format!("{} in {} clusters", number::count(metric.samples), number::count(clusters)))
            }
            None => Cell::Count(metric.samples),
        },
        value(metric.detectable, &scale),
        value(Some(metric.deviation.value()), &scale),
        Cell::text(wanted),
    ]
}
