//! Every figure beside the pinned baseline, with its threshold and state (RG-10).

use karat_analysis::Kpi;

use super::page::{Column, Inline, Page};
use crate::figures::{self, count};
use crate::kpis::{bounds, change, state};
use crate::report::Report;

/// Systems that are shown; report.json has all.
const SYSTEMS: usize = 20;

pub(super) fn write(page: &mut Page, report: Report<'_>) {
    let kpis = &report.context.verdicts.kpis;
    if kpis.is_empty() {
        return;
    }
    page.heading(2, Inline::plain("Key figures against the baseline"));
    page.paragraph(Inline::plain(
        "Changes are paired by sample wherever both have the samples; an interval that holds 0 shows no change.",
    ));
    for group in report.ranked().into_iter().take(SYSTEMS) {
        let own: Vec<&Kpi> = kpis.iter().filter(|kpi| kpi.system == group.id).collect();
        if own.is_empty() {
            continue;
        }
        page.heading(3, Inline::code(&group.id));
        page.table(&columns(), own.iter().filter_map(|kpi| row(report, kpi)));
        let remarks = own.iter().filter_map(|kpi| {
            let remark = kpi.remark.as_ref()?;
            Some(Inline::code(&kpi.metric).and(": ").and_text(remark))
        });
        page.list(remarks);
    }
}

fn columns() -> Vec<Column> {
    let right = |name| Column::right(Inline::plain(name));
    let left = |name| Column::left(Inline::plain(name));
    vec![
        left("Metric"),
        right("Value"),
        right("n"),
        right("Baseline"),
        right("Change"),
        left("Threshold"),
        left("State"),
    ]
}

fn row(report: Report<'_>, kpi: &Kpi) -> Option<Vec<Inline>> {
    let (_, metric) = report.metrics().find(|(_, metric)| metric.name == kpi.metric)?;
    let state = state(kpi);
    let state = if matches!(state, "" | "pass") { Inline::plain(state) } else { Inline::plain(state).bold() };
    Some(vec![
        Inline::code(&kpi.metric),
        Inline::text(figures::value(metric, kpi.figure.value())).bold(),
        Inline::text(count(kpi.figure.n())),
        Inline::text(figures::maybe(metric, kpi.baseline)),
        Inline::text(change(metric, kpi)),
        Inline::text(bounds(metric, kpi)),
        state,
    ])
}
