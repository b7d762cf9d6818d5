//! Whether the place of evidence in a long text decides how it is judged (BY-14).

use karat_analysis::{EvidencePosition, Finding, Outcome, PlaceEffect, PlaceMeasure, PlaceUnit};
use karat_types::MetricSpec;

use super::page::{Column, Inline, Page};
use crate::figures::{self, Unscaled, count};
use crate::report::Report;

pub(super) fn write(page: &mut Page, report: Report<'_>) {
    for analysed in &report.findings.analyses {
        if let Outcome::EvidencePosition(found) = &analysed.outcome
            && !found.effects.is_empty()
        {
            write_effects(page, report, found);
        }
    }
}

fn write_effects(page: &mut Page, report: Report<'_>, found: &EvidencePosition) {
    page.heading(2, Inline::plain("Place of the evidence"));
    page.paragraph(Inline::plain(
        "Texts judged in pieces: what a judge says of a piece against the piece's place in its text. A slope that all judges \
         share may be in the texts or outputs; one that a single judge has is its own.",
    ));
    let heads = [
        Column::left(Inline::plain("Judge")),
        Column::left(Inline::plain("What")),
        Column::right(Inline::plain("First third")),
        Column::right(Inline::plain("Second")),
        Column::right(Inline::plain("Last")),
        Column::right(Inline::plain("End less beginning")),
        Column::right(Inline::plain("Middle less ends")),
    ];
    page.table(&heads, found.effects.iter().map(|effect| row(report, effect)));
    let texts = found.effects.iter().filter(|it| it.over == PlaceUnit::Pieces).map(|it| it.texts).max();
    if let Some(texts) = texts {
        page.paragraph(
            Inline::plain("The texts judged in pieces (")
                .and_text(count(texts))
                .and(") make fewer than five clusters, so intervals are over pieces: they say nothing of other texts."),
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
            PlaceMeasure::Findings => what.and(" by 1,000 bytes"),
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
    metric.map_or_else(|| figures::full_change(&Unscaled, found), |metric| figures::full_change(metric, found))
}
