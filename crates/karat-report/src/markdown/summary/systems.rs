//! Section with the summary table: one row a system.

use karat_analysis::Group;
use karat_types::MetricSpec;

use crate::markdown::page::{Column, Inline, Page, columns};
use crate::shared::anchored::anchored_line;
use crate::shared::figures::{self, count};
use crate::shared::report::Report;
use crate::shared::scales;

/// Number of metrics that get a column besides the primary one.
const COLUMNS: usize = 6;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    page.heading(2, Inline::plain("Summary table"));
    let primary = report.primary();
    let others: Vec<_> =
        report.metrics().filter(|(at, _)| Some(*at) != report.findings.primary).take(COLUMNS).collect();
    let mut heads = vec![Column::left(Inline::plain("System"))];
    if let Some((_, metric)) = primary {
        heads.push(Column::right(Inline::code(&metric.name)));
        heads.push(Column::right(Inline::plain("Interval")));
        heads.push(Column::right(Inline::plain("n")));
    }
    heads.extend(others.iter().map(|(_, metric)| Column::right(Inline::code(&metric.name))));
    heads.extend(columns(&["", "Failed", "Unscored", "$/cell"]).into_iter().skip(1));
    let scale = |metric: &MetricSpec| scales::scale_of(&report.findings.plan, metric);
    let row = |group: &Group| {
        let spread = |at: usize| group.metrics.get(at);
        let mut row = vec![Inline::code(&group.id)];
        if let Some((at, metric)) = primary {
            let figure = spread(at).and_then(|spread| spread.figure());
            let scale = scale(metric);
            row.push(Inline::text(figures::value_or_none(&scale, figure.map(|it| it.value()))).bold());
            row.push(Inline::text(figure.map_or(figures::NONE.to_owned(), |it| figures::interval(&scale, it))));
            row.push(Inline::text(count(figure.map_or(0, |it| it.n()))));
        }
        row.extend(others.iter().map(|(at, metric)| {
            Inline::text(figures::value_or_none(&scale(metric), spread(*at).and_then(|spread| spread.value())))
        }));
        row.push(Inline::text(count(group.tally.errors)));
        row.push(Inline::text(count(group.tally.unscored)));
        row.push(Inline::text(figures::usd(group.spend.per_cell_usd())));
        row
    };
    page.table(&heads, report.systems_by_rank().into_iter().map(row));
    bounds(page, report);
    write_anchored(page, report);
}

/// Writes judged figures beside the human-anchored ones.
fn write_anchored(page: &mut Page, report: Report<'_>) {
    let systems = report.systems_by_rank();
    let lines = report.metrics().flat_map(|(_, metric)| {
        systems.iter().filter_map(move |group| {
            let figure = report.findings.anchored_figure(&metric.name, &group.id)?;
            let line = anchored_line(metric, figure).filter(|_| figure.labelled > 0)?;
            Some(Inline::code(&metric.name).and(" of ").and_code(&group.id).and(": ").and_text(line))
        })
    });
    let lines: Vec<Inline> = lines.collect();
    if !lines.is_empty() {
        page.paragraph(Inline::plain("Judged figures, and what people would have given (human-anchored):"));
        page.list(lines);
    }
}

/// Writes the primary figures for the cases that all failed cells had scored worst or best.
fn bounds(page: &mut Page, report: Report<'_>) {
    let Some((at, metric)) = report.primary() else { return };
    let metric = &scales::scale_of(&report.findings.plan, metric);
    let line = |group: &Group| {
        let (worst, best) = group.metrics.get(at)?.bounds()?;
        Some(
            Inline::code(&group.id)
                .and(": ")
                .and_text(figures::value(metric, worst))
                .and(" to ")
                .and_text(figures::value(metric, best)),
        )
    };
    let lines: Vec<Inline> = report.findings.systems.iter().filter_map(line).collect();
    if !lines.is_empty() {
        page.paragraph(Inline::plain("If everything that failed had scored worst, or best, the figures would be:"));
        page.list(lines);
    }
}
