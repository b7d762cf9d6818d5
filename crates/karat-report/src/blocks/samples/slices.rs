//! Figures of parts of the dataset: the first metrics as dots, a few others as a table.

use karat_analysis::{Slice, Slices};
use karat_page::block::{Bar, Bars, Block, Cell, Column, Head, Table};
use karat_types::MetricSpec;

use super::label;
use crate::blocks::build::{figure, rows};
use crate::shared::report::Report;
use crate::shared::scales;

/// Number of parts shown of each column, the largest first.
const PARTS: usize = 20;

/// Number of metrics drawn as dots for each column.
const DRAWN: usize = 2;

/// Number of other metrics in the table of each column: more of them fit on no screen.
const LISTED: usize = 5;

pub(in crate::blocks) fn blocks(report: Report<'_>, found: &Slices) -> Vec<Block> {
    let blocks: Vec<Block> = found.by.iter().flat_map(|(column, parts)| of_column(report, column, parts)).collect();
    if blocks.is_empty() { super::super::plain::blocks("Slices", found) } else { blocks }
}

fn of_column(report: Report<'_>, column: &str, parts: &[Slice]) -> Vec<Block> {
    let has = |metric: &MetricSpec| parts.iter().any(|part| part.metrics.contains_key(&metric.name));
    let metrics: Vec<&MetricSpec> = report.metrics().map(|(_, metric)| metric).filter(|metric| has(metric)).collect();
    let headline = report.headline().into_iter().map(|(_, metric)| metric).filter(|metric| has(metric));
    let mut drawn: Vec<&MetricSpec> = headline.collect();
    let rest = metrics.into_iter().filter(|metric| !drawn.iter().any(|it| it.name == metric.name)).collect::<Vec<_>>();
    drawn.extend(rest.into_iter().filter(|metric| !metric.volatile));
    let in_table = drawn.split_off(DRAWN.min(drawn.len()));
    let in_table: Vec<&MetricSpec> = in_table.into_iter().take(LISTED).collect();
    let shown = || parts.iter().take(PARTS);
    let dots = drawn.into_iter().map(|metric| {
        let scale = scales::scale_of(&report.findings.plan, metric);
        let bar = |part: &Slice| Bar {
            name: label(&part.value),
            estimate: scales::estimate_or_none(&scale, part.metrics.get(&metric.name)),
            ..Bar::default()
        };
        let bars = shown().map(bar).collect();
        let head = Head::new(format!("{} by {column}", metric.name), "Which part of the dataset is weak?");
        Block::Bars(Bars { head, scale, bars, threshold: None })
    });
    let blocks: Vec<Block> = dots.collect();
    blocks.into_iter().chain(others(report, column, parts, &in_table)).collect()
}

/// The other headline metrics as a table; report.json has the figures of all.
fn others(report: Report<'_>, column: &str, parts: &[Slice], metrics: &[&MetricSpec]) -> Option<Block> {
    if metrics.is_empty() {
        return None;
    }
    let cells = parts.iter().take(PARTS).map(|part| {
        let figures = metrics
            .iter()
            .map(|metric| figure(part.metrics.get(&metric.name), &scales::scale_of(&report.findings.plan, metric)));
        [Cell::Text(label(&part.value)), Cell::Count(part.samples)].into_iter().chain(figures).collect()
    });
    let names = metrics.iter().map(|metric| Column::number(&metric.name));
    let columns = [Column::text("Part"), Column::number("Samples")].into_iter().chain(names).collect();
    let mut table = rows(columns, cells);
    table.left_out = parts.len().saturating_sub(PARTS) as u64;
    let head = Head::new(format!("Other metrics by {column}"), "How does each part score in the others?");
    Some(Block::Table(Table { head, rows: table, ..Table::default() }))
}
