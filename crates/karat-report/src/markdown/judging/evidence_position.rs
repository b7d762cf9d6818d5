//! Section on the effect of the position of evidence in a long text on its judgment (BY-14).

use karat_analysis::{EvidencePosition, Finding, Outcome, PlaceEffect, PlaceMeasure, PlaceUnit};
use karat_types::MetricSpec;

use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures::{self, Unscaled, count};
use crate::shared::report::Report;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    for analysed in &report.findings.analyses {
        if let Outcome::EvidencePosition(found) = &analysed.outcome
            && !found.effects.is_empty()
        {
            write_effects(page, report, found);
        }
    }
}

fn write_effects(page: &mut Page, report: Report<'_>, found: &EvidencePosition) {
    page.heading(2, Inline::plain("Position of the evidence"));
    page.paragraph(Inline::plain(
        "Texts judged in pieces: a judge's result for each piece against the position of the piece in its text. A slope that all \
         judges share may come from the texts or outputs; a slope of a single judge is the judge's own.",
    ));
    let heads = [
        Column::left(Inline::plain("Judge")),
        Column::left(Inline::plain("Measure")),
        Column::right(Inline::plain("First third")),
        Column::right(Inline::plain("Second")),
        Column::right(Inline::plain("Last")),
        Column::right(Inline::plain("End − beginning")),
        Column::right(Inline::plain("Middle − ends")),
    ];
    page.table(&heads, found.effects.iter().map(|effect| row(report, effect)));
    let texts = found.effects.iter().filter(|it| it.over == PlaceUnit::Pieces).map(|it| it.texts).max();
    if let Some(texts) = texts {
        page.paragraph(
            Inline::plain("The texts judged in pieces (")
                .and_text(count(texts))
                .and(") form fewer than five clusters, so intervals are over pieces and do not apply to other texts."),
        );
    }
}

fn row(report: Report<'_>, effect: &PlaceEffect) -> Vec<Inline> {
    let metric = report.findings.plan.metrics.iter().find(|it| it.name == effect.name);
    let what = Inline::code(&effect.name);
    let third =
        |found: &Option<Finding>| Inline::text(found.as_ref().map_or(figures::NONE.to_owned(), |it| level(metric, it)));
    vec![
        Inline::code(&effect.judge),
        match effect.of {
            PlaceMeasure::Grade => what,
            PlaceMeasure::Findings => what.and(" per 1,000 bytes"),
        },
        third(&effect.beginning),
        third(&effect.middle_third),
        third(&effect.end),
        Inline::text(change(metric, &effect.trend)),
        Inline::text(effect.middle.as_ref().map_or(figures::NONE.to_owned(), |it| change(metric, it))),
    ]
}

fn level(metric: Option<&MetricSpec>, found: &Finding) -> String {
    metric.map_or_else(|| figures::value(&Unscaled, found.value()), |metric| figures::value(metric, found.value()))
}

fn change(metric: Option<&MetricSpec>, found: &Finding) -> String {
    metric.map_or_else(
        || figures::difference_with_method(&Unscaled, found),
        |metric| figures::difference_with_method(metric, found),
    )
}
