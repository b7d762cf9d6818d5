//! A comparison of two runs, systems, models or variants.

use karat_analysis::Finding;
use karat_analysis::compare::{ComparedMetric, RunComparison, SideSummary};

use super::page::{Column, Inline, Page};
use crate::comparison::{
    bounds, change, changed, conclusion, figure_of, how_made, left_out_short, matched, p_value, second, size,
    unmatched, verdict,
};
use crate::figures::{self, NONE, count, percent};

/// The comparison as Markdown.
pub fn comparison(compared: &RunComparison) -> String {
    let mut page = Page::default();
    page.heading(1, Inline::plain("Comparison"));
    page.list([side("Candidate: ", &compared.candidate), side("Baseline: ", &compared.baseline)]);
    page.paragraph(Inline::text(matched(compared)).and("."));
    let left_out = [&compared.baseline, &compared.candidate].into_iter().filter_map(unmatched).chain(changed(compared));
    page.list(left_out.map(Inline::text));
    results(&mut page, compared);
    page.heading(2, Inline::plain("In words"));
    page.list(compared.metrics.iter().map(|metric| name(metric).and(": ").and_text(conclusion(metric))));
    page.list(
        compared.not_compared.iter().map(|it| Inline::code(&it.metric).and(": not compared; ").and_text(&it.reason)),
    );
    super::changes::write(&mut page, &compared.diagnostics);
    beside(&mut page, compared);
    for warning in &compared.warnings {
        page.quote(Inline::text(warning));
    }
    page.paragraph(Inline::plain("How these numbers were made: ").and_text(how_made(compared)).and("."));
    page.finish()
}

fn side(role: &'static str, side: &SideSummary) -> Inline {
    let systems = Inline::list(side.systems.iter().map(Inline::code));
    Inline::plain(role).and_code(&side.label).and(" (").then(systems).and(")")
}

/// A metric, with what its figures are where they are no means.
fn name(metric: &ComparedMetric) -> Inline {
    let name = Inline::code(&metric.metric);
    match figure_of(metric) {
        Some(aggregate) => name.and(" (").and_text(aggregate).and(")"),
        None => name,
    }
}

fn results(page: &mut Page, compared: &RunComparison) {
    let with_margin = compared.metrics.iter().any(|metric| metric.equivalence.is_some());
    let mut heads = vec![
        Column::left(Inline::plain("Metric")),
        Column::right(Inline::plain("Baseline")),
        Column::right(Inline::plain("Candidate")),
        Column::right(Inline::plain("Change")),
        Column::right(Inline::plain("Interval")),
        Column::right(Inline::plain("Level")),
        Column::right(Inline::plain("p")),
        Column::right(Inline::plain("p corrected")),
        Column::right(Inline::plain("n")),
        Column::right(Inline::plain("Left out")),
        Column::left(Inline::plain("Test")),
        Column::left(Inline::plain("Verdict")),
    ];
    let row = |metric: &ComparedMetric| {
        let mut row = vec![
            name(metric),
            Inline::text(figures::full_interval(metric, &metric.baseline)),
            Inline::text(figures::full_interval(metric, &metric.candidate)),
            Inline::text(change(metric, metric.difference.value())).bold(),
            Inline::text(bounds(metric, &metric.difference)),
            Inline::text(metric.difference.level().map_or(NONE.to_owned(), percent)),
            Inline::text(p_value(metric.p)),
            Inline::text(p_value(metric.p_adjusted)),
            Inline::text(count(metric.difference.n())),
            Inline::text(left_out_short(metric.left_out)),
            Inline::plain(metric.test),
            Inline::plain(verdict(metric.verdict)).bold(),
        ];
        if with_margin {
            row.insert(
                6,
                Inline::text(metric.equivalence.as_ref().map_or(NONE.to_owned(), |it| equivalence(metric, it))),
            );
        }
        row
    };
    if with_margin {
        heads.insert(6, Column::right(Inline::plain("Interval of equivalence")));
    }
    page.table(&heads, compared.metrics.iter().map(row));
}

/// `−0.05 to +0.07 (90 %) against ±0.2`.
fn equivalence(metric: &ComparedMetric, tested: &Finding) -> String {
    let level = tested.level().map_or(String::new(), |level| format!(" ({})", percent(level)));
    let margin = metric.margin.map_or(String::new(), |margin| format!(" against ±{}", size(metric, margin)));
    format!("{}{level}{margin}", bounds(metric, tested))
}

fn beside(page: &mut Page, compared: &RunComparison) {
    let detectable = |metric: &ComparedMetric| {
        let least = metric.detectable?;
        Some(format!("{} samples detect {} or more", count(metric.difference.n()), size(metric, least)))
    };
    let line = |metric: &ComparedMetric| {
        let others = metric.beside.iter().map(|it| second(metric, it)).chain(detectable(metric));
        name(metric).and(": ").and_text(others.collect::<Vec<_>>().join("; "))
    };
    let told = |metric: &&ComparedMetric| !metric.beside.is_empty() || metric.detectable.is_some();
    page.heading(2, Inline::plain("Beside"));
    page.list(compared.metrics.iter().filter(told).map(line));
}
