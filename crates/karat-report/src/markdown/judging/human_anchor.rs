//! Section on scores that are corrected by human labels (BY-03).

use karat_analysis::{AnchoredFigure, Finding, HumanAnchor, Outcome};
use karat_types::MetricSpec;

use crate::markdown::page::{Column, Inline, Page};
use crate::shared::anchored::labels_text;
use crate::shared::figures::{self, count};
use crate::shared::report::Report;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    for analysed in &report.findings.analyses {
        if let Outcome::HumanAnchor(anchor) = &analysed.outcome {
            page.heading(2, Inline::plain("Human-anchored scores"));
            write_anchor(page, report, anchor);
        }
    }
}

fn write_anchor(page: &mut Page, report: Report<'_>, anchor: &HumanAnchor) {
    page.paragraph(Inline::text(labels_text(anchor)));
    let heads = [
        Column::left(Inline::plain("Metric")),
        Column::left(Inline::plain("System")),
        Column::right(Inline::plain("Judge alone")),
        Column::right(Inline::plain("Labels alone")),
        Column::right(Inline::plain("Human-anchored")),
        Column::right(Inline::plain("People − judge")),
        Column::left(Inline::plain("Based on")),
    ];
    let metric = |name: &str| report.findings.plan.metrics.iter().find(|it| it.name == name);
    let any = anchor.figures.iter().any(|figure| figure.labelled > 0);
    let shown = anchor.figures.iter().filter(|figure| !any || figure.labelled > 0);
    let rows = shown.filter_map(|figure| Some(row(metric(&figure.metric)?, figure)));
    page.table(&heads, rows);
}

fn row(metric: &MetricSpec, figure: &AnchoredFigure) -> Vec<Inline> {
    let figure_text = |finding: &Option<Finding>| {
        Inline::text(finding.as_ref().map_or(figures::NONE.to_owned(), |it| figures::value_with_interval(metric, it)))
    };
    let correction =
        figure.correction.as_ref().map_or(figures::NONE.to_owned(), |it| figures::signed_value(metric, it.value()));
    let basis = match (&figure.why, &figure.anchored) {
        (Some(why), _) => Inline::text(why),
        (None, None) => Inline::default(),
        (None, Some(anchored)) => {
            let worth = figure.worth.as_ref().map(|it| format!(", worth {} labels", count(it.value().round() as u64)));
            let weight = figure.lambda.as_ref().map(|it| format!(", λ {:.2}", it.value()));
            let needed = figure.labels_needed.map(|(with, without)| {
                format!(", the wanted width needs {} labels (without the judge {})", count(with), count(without))
            });
            Inline::text(format!(
                "{} labels + {} judged, {}{}{}{}",
                count(figure.labelled),
                count(figure.judged),
                anchored.method(),
                weight.unwrap_or_default(),
                worth.unwrap_or_default(),
                needed.unwrap_or_default()
            ))
        }
    };
    vec![
        Inline::code(&metric.name),
        Inline::code(&figure.system),
        figure_text(&figure.judge),
        figure_text(&figure.human),
        figure_text(&figure.anchored),
        Inline::text(correction),
        basis,
    ]
}
