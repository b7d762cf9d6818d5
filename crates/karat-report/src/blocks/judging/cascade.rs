//! Judge cascades: estimates of the judges from a cheaper one, with their calls.

use karat_analysis::{Cascade, Cascades};
use karat_page::block::{Block, Cell, Column, Head};

use crate::blocks::build::{count, figure, prose, table, texts, value};
use crate::shared::cascade::{cascade_line, cascade_text};
use crate::shared::report::Report;
use crate::shared::scales;

pub(in crate::blocks) fn blocks(report: Report<'_>, found: &Cascades) -> Vec<Block> {
    let cascades = found.scorers.iter().map(|cascade| block(report, cascade));
    cascades.collect()
}

fn block(report: Report<'_>, cascade: &Cascade) -> Block {
    let plan = &report.findings.plan;
    let rows = cascade.systems.iter().flat_map(|system| {
        system.metrics.iter().filter_map(move |it| {
            let metric = plan.metrics.get(plan.metric(&it.metric)?)?;
            let scale = scales::scale_of(plan, metric);
            Some(vec![
                Cell::text(&it.metric),
                Cell::text(&system.system),
                figure(it.figure.as_ref(), &scale),
                value(it.first_mean, &scales::bare_scale()),
                count(Some(system.unsure)),
                count(Some(system.drawn)),
                count(Some(system.not_asked)),
                value(it.correlation, &scales::bare_scale()),
                value(it.width_ratio, &scales::bare_scale()),
                prose(cascade_line(cascade, system, it, metric)),
            ])
        })
    });
    let mut columns = texts(["Metric", "System"]);
    columns.extend(
        ["Estimate", "First alone", "Unsure", "Drawn", "Not asked", "Correlation", "Times as wide"].map(Column::number),
    );
    columns.extend(texts(["In one line"]));
    let head = Head::new(format!("Judge cascade of {}", cascade.scorer), "What would the judges say of every cell?")
        .with_note(cascade_text(cascade));
    table(head, columns, rows)
}
