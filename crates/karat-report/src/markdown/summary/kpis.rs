//! Section that compares every figure with the pinned baseline.

use karat_analysis::Kpi;

use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures::{self, count};
use crate::shared::report::Report;
use crate::shared::scales;
use crate::wording::kpis::{bounds_text, change_text, gate_state, has_many_systems, is_notable};

/// Number of systems shown. report.json has all.
const SYSTEMS: usize = 20;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    let kpis = &report.context.verdicts.kpis;
    if kpis.is_empty() {
        return;
    }
    page.heading(2, Inline::plain("Key figures against the baseline"));
    page.paragraph(Inline::plain(
        "Changes are paired by sample where both runs have it; an interval that contains 0 shows no significant change.",
    ));
    let brief = has_many_systems(kpis);
    let shown = |kpi: &&Kpi| !brief || is_notable(kpi);
    let still = kpis.iter().filter(|kpi| !shown(kpi)).count();
    if still > 0 {
        page.paragraph(
            Inline::plain("Unchanged figures whose gates pass are left out: ")
                .and_text(count(still as u64))
                .and(" of ")
                .and_text(count(kpis.len() as u64))
                .and("."),
        );
    }
    let moved = |id: &str| kpis.iter().filter(|kpi| kpi.system == id).filter(shown).collect::<Vec<_>>();
    let groups = report.systems_by_rank().into_iter().map(|group| (group, moved(&group.id)));
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
    let metric = &scales::scale_of(&report.findings.plan, metric);
    let state = gate_state(kpi);
    let state = if matches!(state, "" | "pass") { Inline::plain(state) } else { Inline::plain(state).bold() };
    Some(vec![
        Inline::code(&kpi.metric),
        Inline::text(figures::value(metric, kpi.figure.value())).bold(),
        Inline::text(count(kpi.figure.n())),
        Inline::text(figures::value_or_none(metric, kpi.baseline)),
        Inline::text(change_text(metric, kpi)),
        Inline::text(bounds_text(kpi, |it| figures::value(metric, it))),
        state,
    ])
}
