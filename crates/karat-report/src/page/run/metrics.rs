//! Metrics by system as dots on their intervals, the change since the baseline, and latency.

use karat_analysis::{Group, Kpi};
use karat_page::block::{Block, Cell, Column, Head, Row, Rows, Table};
use karat_page::component::metrics::{self, MetricRow};
use karat_page::number::count_noun;
use karat_page::text::visible::line;
use karat_page::{Markup, html, render};

use super::latency;
use super::verdict::page_verdict;
use crate::page::sections::disclosure;
use crate::shared::anchored::missing_text;
use crate::shared::report::Report;
use crate::shared::scales;
use crate::wording::kpis::{bounds_text, has_many_systems, is_notable};

/// Number of systems drawn for each metric, the best first.
const SYSTEMS: usize = 20;

/// Number of rows that are shown at once.
const GLANCE: usize = 32;

/// Number of rows of all metrics together.
const ROWS: usize = 1_000;

/// Number of rows of the table against the baseline.
const CHANGES: usize = 200;

pub(super) fn section(report: Report<'_>) -> Markup {
    // The first metric is always shown, further ones as long as a reader still sees them at a glance.
    let systems = report.findings.systems.len().clamp(1, SYSTEMS);
    let shown = (GLANCE / systems).max(1);
    let headline: Vec<usize> = report.headline().into_iter().map(|(at, _)| at).take(shown).collect();
    let others: Vec<usize> = report.metrics().map(|(at, _)| at).filter(|at| !headline.contains(at)).collect();
    let rows = |metrics: &[usize]| {
        let rows: Vec<MetricRow> = metrics.iter().flat_map(|at| rows_of(report, *at)).take(ROWS).collect();
        rows
    };
    let other_rows = rows(&others);
    html! {
        (metrics::render(&rows(&headline)))
        @if report.findings.systems.len() > SYSTEMS {
            p.left-out data-testid="left-out" { "The first " (SYSTEMS) " of " (report.findings.systems.len()) " systems are shown; report.json has all." }
        }
        (bounds(report))
        @if !other_rows.is_empty() { (disclosure(&count_noun(others.len() as u64, "more metric"), &metrics::render(&other_rows))) }
        (against_baseline(report))
        (latency::panels(report))
    }
}

fn rows_of(report: Report<'_>, at: usize) -> Vec<MetricRow> {
    let Some(metric) = report.findings.plan.metrics.get(at) else { return Vec::new() };
    let scale = scales::scale_of(&report.findings.plan, metric);
    let aggregate = if metric.aggregate == "mean" { String::new() } else { format!(" ({})", metric.aggregate) };
    let row = |group: &Group| {
        let spread = group.metrics.get(at)?;
        Some(MetricRow {
            metric: format!("{}{aggregate}", metric.name),
            system: group.id.clone(),
            estimate: scales::estimate_of_spread(&scale, spread),
            scale: scale.clone(),
            note: scales::left_out(spread),
        })
    };
    // The anchored figure stands right below the one that the judge gave.
    let anchored = |group: &Group| {
        let figure = report.findings.anchored_figure(&metric.name, &group.id).filter(|it| it.labelled > 0)?;
        let missing = missing_text(figure);
        let why = figure.why.clone().filter(|_| figure.anchored.is_none());
        Some(MetricRow {
            metric: format!("{}{aggregate}", metric.name),
            system: format!("{}, human-anchored by {}", group.id, count_noun(figure.labelled, "label")),
            estimate: scales::estimate_or_none(&scale, figure.anchored.as_ref()),
            scale: scale.clone(),
            note: why.or(missing),
        })
    };
    let systems = report.systems_by_rank().into_iter().take(SYSTEMS);
    systems.flat_map(|group| [row(group), anchored(group)]).flatten().collect()
}

/// The primary figures for the cases that all failed cells had scored worst or best.
fn bounds(report: Report<'_>) -> Markup {
    let Some((at, metric)) = report.primary() else { return html! {} };
    let scale = scales::scale_of(&report.findings.plan, metric);
    let bounds = |group: &&Group| {
        let (worst, best) = group.metrics.get(at)?.bounds()?;
        Some(format!("{} {} to {}", group.id, scale.text(worst), scale.text(best)))
    };
    let lines: Vec<String> = report.systems_by_rank().iter().take(SYSTEMS).filter_map(bounds).collect();
    html! {
        @if !lines.is_empty() {
            p.soft.small {
                "If everything that failed had scored worst, or best, " (line(&metric.name)) " would be: " (line(&lines.join("; "))) "."
            }
        }
    }
}

/// The change of every figure since the pinned baseline.
fn against_baseline(report: Report<'_>) -> Markup {
    let kpis = &report.context.verdicts.kpis;
    if kpis.is_empty() {
        return html! {};
    }
    let brief = has_many_systems(kpis);
    let kept: Vec<&Kpi> = kpis.iter().filter(|kpi| !brief || is_notable(kpi)).collect();
    let rows: Vec<Row> = kept.iter().take(CHANGES).filter_map(|kpi| row(report, kpi)).collect();
    let mut head = Head::new("Key figures against the baseline", "What moved since the pinned run?")
        .with_note("Changes are paired by sample where both runs have it; an interval that contains 0 shows no significant change.")
        .when_empty_because("No figure moved, and every gate on them passes.");
    let still = kpis.len() - kept.len();
    if still > 0 {
        head = head.with_note(format!("Unchanged figures whose gates pass are left out: {still} of {}.", kpis.len()));
    }
    let mut columns = ["Metric", "System"].map(Column::text).to_vec();
    columns.extend(["Value", "n", "Baseline", "Change"].map(Column::number));
    columns.extend(["Threshold", "State", "Remark"].map(Column::text));
    let left_out = kept.len().saturating_sub(CHANGES) as u64;
    render(&Block::Table(Table { head, rows: Rows { columns, rows, left_out, ..Rows::default() }, ..Table::default() }))
}

fn row(report: Report<'_>, kpi: &Kpi) -> Option<Row> {
    let (_, metric) = report.metrics().find(|(_, metric)| metric.name == kpi.metric)?;
    let scale = scales::scale_of(&report.findings.plan, metric);
    let change = kpi.change.as_ref().map_or_else(Default::default, scales::difference);
    let state = kpi.bounds.iter().map(|it| it.verdict).max_by_key(|verdict| *verdict as u8);
    let baseline = kpi.baseline.map_or_else(Default::default, |it| karat_page::number::Estimate::point(it, 0));
    Some(Row::of(vec![
        Cell::text(&kpi.metric),
        Cell::text(&kpi.system),
        Cell::Value(scales::estimate(&scale, &kpi.figure), scale.clone()),
        Cell::Count(kpi.figure.n()),
        Cell::Value(baseline, scale.clone()),
        Cell::Difference(change, scale.clone()),
        Cell::Text(bounds_text(kpi, |value| scale.text(value))),
        state.map_or_else(|| Cell::text(""), |verdict| Cell::Verdict(page_verdict(verdict))),
        Cell::Words(kpi.remark.clone().unwrap_or_default()),
    ]))
}
