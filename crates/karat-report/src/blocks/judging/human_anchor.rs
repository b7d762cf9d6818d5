//! Scores corrected by human labels: raw and anchored figures beside each other.

use karat_analysis::{AnchoredFigure, HumanAnchor};
use karat_page::block::{Block, Cell, Column, Head};

use crate::blocks::build::{difference, figure, prose, table, texts};
use crate::shared::anchored::labels_text;
use crate::shared::figures::count;
use crate::shared::report::Report;
use crate::shared::scales;

pub(in crate::blocks) fn blocks(report: Report<'_>, anchor: &HumanAnchor) -> Vec<Block> {
    let any = anchor.figures.iter().any(|figure| figure.labelled > 0);
    let rows = anchor.figures.iter().filter(|it| !any || it.labelled > 0).map(|it: &AnchoredFigure| {
        let scale = scales::scale_named(&report.findings.plan, &it.metric);
        let basis = match (&it.why, &it.anchored) {
            (Some(why), _) => why.clone(),
            (None, Some(anchored)) => {
                let worth = it.worth.as_ref().map(|it| format!(", worth {} labels", count(it.value().round() as u64)));
                let weight = it.lambda.as_ref().map(|it| format!(", λ {:.2}", it.value()));
                let needed = it.labels_needed.map(|(with, without)| {
                    format!(", the wanted width needs {} labels (without the judge {})", count(with), count(without))
                });
                let more: String = [weight, worth, needed].into_iter().flatten().collect();
                let labels = count(it.labelled);
                format!("{labels} labels + {} judged, {}{more}", count(it.judged), anchored.method())
            }
            (None, None) => String::new(),
        };
        vec![
            Cell::text(&it.metric),
            Cell::text(&it.system),
            figure(it.judge.as_ref(), &scale),
            figure(it.human.as_ref(), &scale),
            figure(it.anchored.as_ref(), &scale),
            difference(it.correction.as_ref(), &scale),
            prose(basis),
        ]
    });
    let mut columns = texts(["Metric", "System"]);
    columns.extend(["Judge alone", "Labels alone", "Human-anchored", "People − judge"].map(Column::number));
    columns.extend(texts(["Based on"]));
    let head = Head::new("Human-anchored scores", "What would people have graded?")
        .with_n(anchor.labels.0)
        .with_note(labels_text(anchor));
    vec![table(head, columns, rows)]
}
