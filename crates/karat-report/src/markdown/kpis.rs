//! Every figure beside the pinned baseline, with its threshold and state (RG-10).

use karat_analysis::Kpi;

use super::page::{Column, Inline, Page};
use crate::figures::{self, count};
use crate::kpis::{are_many, bounds, change, state, tells};
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
    let brief = are_many(kpis);
    let shown = |kpi: &&Kpi| !brief || tells(kpi);
    let still = kpis.iter().filter(|kpi| !shown(kpi)).count();
    if still > 0 {
        page.paragraph(
            Inline::plain("Figures that did not move and whose gates pass are left out: ")
                .and_text(count(still as u64))
                .and(" of ")
                .and_text(count(kpis.len() as u64))
                .and("."),
        );
    }
    let moved = |id: &str| kpis.iter().filter(|kpi| kpi.system == id).filter(shown).collect::<Vec<_>>();
    let groups = report.ranked().into_iter().map(|group| (group, moved(&group.id)));
    for (group, own) in groups.filter(|(_, own)| !own.is_empty()).take(SYSTEMS) {
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
