//! The verdict on each metric, and the differences around zero.

use karat_analysis::compare::{ComparedMetric, ComparisonVerdict, RunComparison};
use karat_page::block::{Block, Cell, Column, Forest, ForestRow, Head, Row, Rows, Table};
use karat_page::component::verdict::{Verdict, verdict_line};
use karat_page::number::count_noun;
use karat_page::text::markdown;
use karat_page::{Markup, html, render};

use crate::shared::scales;
use crate::wording::comparison::{aggregate_name, conclusion, deciding_difference};
use crate::wording::movers::system_correction;

/// The verdict over all metrics, and one sentence for each.
pub(super) fn verdict(compared: &RunComparison) -> Markup {
    let number = |wanted| compared.metrics.iter().filter(|metric| metric.verdict == wanted).count() as u64;
    let words = [
        (ComparisonVerdict::Better, "better"),
        (ComparisonVerdict::Worse, "worse"),
        (ComparisonVerdict::Equivalent, "equivalent"),
        (ComparisonVerdict::Undecided, "undecided"),
    ];
    let counted = words.iter().filter(|(verdict, _)| number(*verdict) > 0);
    let counted: Vec<String> = counted.map(|(verdict, word)| format!("{} {word}", number(*verdict))).collect();
    // The worst decides; a reader must not miss one metric that fell behind.
    let order = [
        ComparisonVerdict::Worse,
        ComparisonVerdict::Better,
        ComparisonVerdict::Undecided,
        ComparisonVerdict::Equivalent,
    ];
    let overall = order.into_iter().find(|verdict| number(*verdict) > 0).unwrap_or(ComparisonVerdict::Undecided);
    let of = count_noun(compared.metrics.len() as u64, "metric");
    let rows = compared.metrics.iter().map(|metric| {
        let scale = scales::scale_of_compared(metric);
        Row::of(vec![
            Cell::Text(name(metric)),
            Cell::Verdict(page_verdict(metric.verdict)),
            Cell::Value(scales::estimate(&scale, &metric.baseline), scale.clone()),
            Cell::Value(scales::estimate(&scale, &metric.candidate), scale.clone()),
            Cell::Prose(conclusion(compared, metric)),
        ])
    });
    let not_compared = compared.not_compared.iter().map(|it| {
        let missing = || Cell::Missing("not compared".to_owned());
        Row::of(vec![Cell::text(&it.metric), missing(), missing(), missing(), Cell::text(&it.reason)])
    });
    let mut columns = ["Metric", "Verdict"].map(Column::text).to_vec();
    columns.extend(["Baseline", "Candidate"].map(Column::number));
    columns.push(Column::text("In words"));
    let rows = Rows { columns, rows: rows.chain(not_compared).collect(), ..Rows::default() };
    let head = Head::new("Verdict for each metric", "Did it change?");
    html! {
        (verdict_line(page_verdict(overall), &format!("{of}: {}.", counted.join(", "))))
        (render(&Block::Table(Table { head, rows, ..Table::default() })))
    }
}

/// Returns the verdict in the form of pages.
pub(super) fn page_verdict(verdict: ComparisonVerdict) -> Verdict {
    match verdict {
        ComparisonVerdict::Better => Verdict::Better,
        ComparisonVerdict::Worse => Verdict::Worse,
        ComparisonVerdict::Equivalent => Verdict::Equivalent,
        ComparisonVerdict::Undecided => Verdict::Undecided,
    }
}

fn name(metric: &ComparedMetric) -> String {
    match aggregate_name(metric) {
        Some(aggregate) => format!("{} ({aggregate})", metric.metric),
        None => metric.metric.clone(),
    }
}

/// The differences of metrics, one forest for all metrics of one scale and margin.
pub(super) fn forests(compared: &RunComparison) -> Markup {
    let mut groups: Vec<Vec<&ComparedMetric>> = Vec::new();
    let is_alike = |a: &ComparedMetric, b: &ComparedMetric| {
        // A quantity without a range has a unit of its own.
        a.range.is_some() && a.range == b.range && a.better == b.better && a.margin == b.margin
    };
    for metric in &compared.metrics {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| is_alike(first, metric))) {
            Some(group) => group.push(metric),
            None => groups.push(vec![metric]),
        }
    }
    let several = compared.systems.len() > 1;
    html! {
        @for group in &groups {
            @if let Some(first) = group.first() {
                @let title = if group.len() == 1 { name(first) } else { count_noun(group.len() as u64, "metric") };
                @let question = if several { "What changes on average over systems?" } else { "What changes, candidate − baseline?" };
                @let rows = group.iter().map(|metric| row(name(metric), metric)).collect();
                (render(&forest(Head::new(title, question), first, rows)))
            }
        }
    }
}

fn forest(head: Head, metric: &ComparedMetric, rows: Vec<ForestRow>) -> Block {
    let scale = scales::scale_of_compared(metric);
    Block::Forest(Forest { head, scale, margin: metric.margin, rows })
}

fn row(name: String, metric: &ComparedMetric) -> ForestRow {
    ForestRow {
        name,
        effect: scales::difference(deciding_difference(metric)),
        verdict: Some(page_verdict(metric.verdict)),
        needed: metric.needed.as_ref().filter(|needed| needed.more > 0).map(|needed| needed.samples),
        href: None,
    }
}

/// The differences of each system, a forest for each metric; nothing if there is one system.
pub(super) fn systems(compared: &RunComparison) -> Markup {
    if compared.systems.len() < 2 {
        return html! {};
    }
    let of_metric = |wanted: &ComparedMetric| {
        let rows = compared.systems.iter().filter_map(|system| {
            let metric = system.metrics.iter().find(|metric| metric.metric == wanted.metric)?;
            Some(row(system.candidate.clone(), metric))
        });
        rows.collect::<Vec<_>>()
    };
    html! {
        p.soft { (system_correction(compared)) "." }
        @for metric in &compared.metrics {
            (render(&forest(Head::new(name(metric), "Which systems change?"), metric, of_metric(metric))))
        }
    }
}

/// The changes in diagnostics, as report.md has them.
pub(super) fn diagnostics(compared: &RunComparison) -> Markup {
    if compared.diagnostics.is_empty() {
        return html! {};
    }
    html! { div.prose-block.wide-prose { (markdown::render(&crate::markdown::diagnostics_changes(compared))) } }
}
