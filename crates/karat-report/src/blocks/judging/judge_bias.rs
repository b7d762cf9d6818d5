//! Preferences of judges for properties other than quality.

use karat_analysis::{BiasCheck, Finding, JudgeBias};
use karat_page::block::{Block, Cell, Column, Head};
use karat_page::number::Scale;

use crate::blocks::build::{count, difference, figure, table, table_if_any, texts};
use crate::shared::report::Report;
use crate::shared::scales;
use crate::wording::comparison::p_value;

pub(in crate::blocks) fn blocks(report: Report<'_>, bias: &JudgeBias) -> Vec<Block> {
    let scale = |metric: &str| scales::scale_named(&report.findings.plan, metric);
    let leanings = bias.leanings.iter().map(|it| {
        let per = match it.check {
            BiasCheck::Length => "doubling of the words",
            _ => "Markdown in every line",
        };
        vec![
            Cell::text(&it.judge),
            Cell::text(&it.metric),
            Cell::text(per),
            difference(Some(&it.slope), &scale(&it.metric)),
            figure(it.correlation.as_ref(), &Scale::score(-1.0, 1.0)),
            difference(it.against_people.as_ref(), &scale(&it.metric)),
        ]
    });
    let mut columns = texts(["Judge", "Metric", "Grades per"]);
    columns.extend(["Slope", "Correlation", "Slope against human labels"].map(Column::number));
    let mut head =
        Head::new(format!("Judge bias in {}", bias.scorer), "Does a judge prefer long or formatted answers?")
            .with_note("Slopes are within samples that several systems answered.")
            .with_note("Longer answers may be better: a slope against human labels shows bias, a slope alone does not.")
            .when_empty(
                "No sample was answered by several systems, so no slope can be computed.",
                "karat run --models A,B",
            );
    head.notes.extend(bias.notes.iter().cloned());
    let leanings = table(head, columns, leanings);

    let families = bias.own_family.iter().map(|it| {
        let names = [&it.judge, &it.family, &it.metric].map(Cell::text);
        names.into_iter().chain([difference(Some(&it.favour), &scale(&it.metric))]).collect()
    });
    let mut columns = texts(["Judge", "Family", "Metric"]);
    columns.push(Column::number("Favours its own family by"));
    let head = Head::new("Own family", "Does a judge prefer models of its family?");
    let families = table_if_any(head, columns, families);

    let positions = bias.positions.iter().map(|it| {
        vec![
            Cell::text(&it.judge),
            Cell::text(&it.metric),
            figure(Some(&it.consistency), &scales::shares()),
            count(Some(it.flips.0)),
            count(Some(it.flips.1)),
            Cell::text(p_value(it.p.as_ref().map(Finding::value))),
        ]
    });
    let mut columns = texts(["Judge", "Metric"]);
    columns.extend(["Consistent pairs", "Flips to the first", "Flips to the second", "p"].map(Column::number));
    let head = Head::new("Position of the outputs", "Does the order of a pair decide?");
    let positions = table_if_any(head, columns, positions);

    let votes = bias
        .votes
        .iter()
        .map(|it| vec![Cell::text(&it.judge), Cell::text(&it.metric), figure(Some(&it.same), &scales::shares())]);
    let mut columns = texts(["Judge", "Metric"]);
    columns.push(Column::number("All votes the same"));
    let votes = table_if_any(Head::new("Votes", "Does a judge agree with itself?"), columns, votes);
    [Some(leanings), families, positions, votes].into_iter().flatten().collect()
}
