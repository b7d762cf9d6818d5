//! Section on judge bias: preferences for properties other than quality (GE-04).

use karat_analysis::{BiasCheck, FeatureSlope, Finding, JudgeBias, Outcome, OwnFamily};
use karat_types::MetricSpec;

use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures;
use crate::shared::report::Report;
use crate::wording::comparison::p_value;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    for analysed in &report.findings.analyses {
        if let Outcome::JudgeBias(bias) = &analysed.outcome {
            page.heading(2, Inline::plain("Judge bias"));
            write_leanings(page, report, bias);
            write_families(page, report, bias);
            write_rounds(page, bias);
            page.list(bias.notes.iter().map(Inline::text));
        }
    }
}

fn metric<'r>(report: Report<'r>, name: &str) -> Option<&'r MetricSpec> {
    report.findings.plan.metrics.iter().find(|it| it.name == name)
}

fn write_leanings(page: &mut Page, report: Report<'_>, bias: &JudgeBias) {
    if bias.leanings.is_empty() {
        return;
    }
    let heads = [
        Column::left(Inline::plain("Judge")),
        Column::left(Inline::plain("Metric")),
        Column::left(Inline::plain("Grades per")),
        Column::right(Inline::plain("Slope")),
        Column::right(Inline::plain("Correlation")),
        Column::right(Inline::plain("Slope against human labels")),
    ];
    let row = |leaning: &FeatureSlope| {
        let metric = metric(report, &leaning.metric)?;
        let slope_text = |it: &Finding| figures::difference_with_method(metric, it);
        let correlation = leaning.correlation.as_ref().map(|it| figures::to_digits(it.value(), 2));
        Some(vec![
            Inline::code(&leaning.judge),
            Inline::code(&leaning.metric),
            Inline::plain(match leaning.check {
                BiasCheck::Length => "doubling of the words",
                _ => "Markdown in every line",
            }),
            Inline::text(slope_text(&leaning.slope)),
            Inline::text(correlation.unwrap_or_else(|| figures::NONE.to_owned())),
            Inline::text(leaning.against_people.as_ref().map_or_else(|| figures::NONE.to_owned(), slope_text)),
        ])
    };
    page.table(&heads, bias.leanings.iter().filter_map(row));
    page.paragraph(Inline::plain(
        "Slopes are within samples that several systems answered. Longer answers may be better: a slope against human labels \
         shows bias, a slope alone does not.",
    ));
}

fn write_families(page: &mut Page, report: Report<'_>, bias: &JudgeBias) {
    if bias.own_family.is_empty() {
        return;
    }
    let heads = [
        Column::left(Inline::plain("Judge")),
        Column::left(Inline::plain("Family")),
        Column::left(Inline::plain("Metric")),
        Column::right(Inline::plain("Favours its own family by")),
    ];
    let row = |found: &OwnFamily| {
        let metric = metric(report, &found.metric)?;
        Some(vec![
            Inline::code(&found.judge),
            Inline::code(&found.family),
            Inline::code(&found.metric),
            Inline::text(figures::difference_with_method(metric, &found.favour)),
        ])
    };
    page.table(&heads, bias.own_family.iter().filter_map(row));
}

/// Writes the lists of judges that compare pairs, and of judges that vote.
fn write_rounds(page: &mut Page, bias: &JudgeBias) {
    let share = |it: &Finding| figures::percent_with_interval(it);
    let positions = bias.positions.iter().map(|it| {
        Inline::code(&it.judge)
            .and(" in ")
            .and_code(&it.metric)
            .and(": consistent in ")
            .and_text(share(&it.consistency))
            .and(" of pairs; flips to the first position ")
            .and_text(figures::count(it.flips.0))
            .and(", to the second ")
            .and_text(figures::count(it.flips.1))
            .and(", p ")
            .and_text(p_value(it.p.as_ref().map(Finding::value)))
    });
    page.list(positions);
    let votes = bias.votes.iter().map(|it| {
        Inline::code(&it.judge)
            .and(" in ")
            .and_code(&it.metric)
            .and(": all votes the same in ")
            .and_text(share(&it.same))
    });
    page.list(votes);
}
