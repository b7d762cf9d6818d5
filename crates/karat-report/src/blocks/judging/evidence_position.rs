//! The effect of the position of evidence in a long text on its judgment.

use karat_analysis::{EvidencePosition, PlaceEffect, PlaceMeasure, PlaceUnit};
use karat_page::block::{Block, Cell, Column, Head};
use karat_page::number;

use crate::blocks::build::{difference, figure, table, texts};
use crate::shared::report::Report;
use crate::shared::scales;

pub(in crate::blocks) fn blocks(report: Report<'_>, found: &EvidencePosition) -> Vec<Block> {
    let row = |effect: &PlaceEffect| {
        let scale = match effect.of {
            PlaceMeasure::Grade => scales::scale_named(&report.findings.plan, &effect.name),
            PlaceMeasure::Findings => scales::bare_scale(),
        };
        let name = match effect.of {
            PlaceMeasure::Grade => effect.name.clone(),
            PlaceMeasure::Findings => format!("{} per 1,000 bytes", effect.name),
        };
        vec![
            Cell::text(&effect.judge),
            Cell::Text(name),
            figure(effect.beginning.as_ref(), &scale),
            figure(effect.middle_third.as_ref(), &scale),
            figure(effect.end.as_ref(), &scale),
            difference(Some(&effect.trend), &scale),
            difference(effect.middle.as_ref(), &scale),
            Cell::Count(effect.pieces),
        ]
    };
    let mut columns = texts(["Judge", "Measure"]);
    let numbers = ["First third", "Second", "Last", "End − beginning", "Middle − ends", "Pieces"];
    columns.extend(numbers.map(Column::number));
    let head = Head::new("Position of the evidence", "Does a judge read the end of a long text as well as its beginning?")
        .with_note(
            "A slope that all judges share may come from the texts or outputs; a slope of a single judge is the judge's own.",
        )
        .with_note("Texts judged in pieces: a judge's result for each piece against the position of the piece in its text.")
        .when_empty("No text was judged in pieces.", "karat rubrics");
    let head = match found.effects.iter().filter(|it| it.over == PlaceUnit::Pieces).map(|it| it.texts).max() {
        Some(texts) => head.with_note(format!(
            "The texts judged in pieces ({}) form fewer than five clusters, so intervals are over pieces and do not apply to other texts.",
            number::count(texts)
        )),
        None => head,
    };
    vec![table(head, columns, found.effects.iter().map(row))]
}
