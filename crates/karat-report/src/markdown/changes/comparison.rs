//! Document of `karat compare`: a comparison of two runs, systems, models or variants.

use karat_analysis::Finding;
use karat_analysis::compare::{ComparedMetric, RunComparison, SideSummary};

use super::metric_name::name;
use super::movers;
use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures::{self, NONE, count, percent};
use crate::wording::comparison::{
    bounds, changed_samples, conclusion, how_made, magnitude, missing_scores_short, p_value, pairing_line, second_test,
    signed_difference, unmatched_samples, verdict_word,
};
use crate::wording::movers::unchanged_systems;

/// Returns the comparison as Markdown.
pub fn comparison(compared: &RunComparison) -> String {
    let mut page = Page::default();
    page.heading(1, Inline::plain("Comparison"));
    page.list([side("Candidate: ", &compared.candidate), side("Baseline: ", &compared.baseline)]);
    page.paragraph(Inline::text(pairing_line(compared)).and("."));
    let left_out = [&compared.baseline, &compared.candidate]
        .into_iter()
        .filter_map(unmatched_samples)
        .chain(changed_samples(compared))
        .chain(unchanged_systems(compared));
    page.list(left_out.map(Inline::text));
    let several = compared.candidate.systems.len() > 1;
    if several {
        movers::write_systems(&mut page, compared);
        movers::write(&mut page, compared);
        page.heading(2, Inline::plain("Average over systems"));
        results(&mut page, compared);
    } else {
        results(&mut page, compared);
        movers::write(&mut page, compared);
    }
    page.heading(2, Inline::plain("In words"));
    page.list(compared.metrics.iter().map(|metric| name(metric).and(": ").and_text(conclusion(compared, metric))));
    page.list(
        compared.not_compared.iter().map(|it| Inline::code(&it.metric).and(": not compared; ").and_text(&it.reason)),
    );
    super::diagnostics::write(&mut page, &compared.diagnostics);
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
            Inline::text(figures::value_with_interval(metric, &metric.baseline)),
            Inline::text(figures::value_with_interval(metric, &metric.candidate)),
            Inline::text(signed_difference(metric, metric.difference.value())).bold(),
            Inline::text(bounds(metric, &metric.difference)),
            Inline::text(metric.difference.level().map_or(NONE.to_owned(), percent)),
            Inline::text(p_value(metric.p)),
            Inline::text(p_value(metric.p_adjusted)),
            Inline::text(count(metric.difference.n())),
            Inline::text(missing_scores_short(metric.left_out)),
            Inline::plain(metric.test),
            Inline::plain(verdict_word(metric.verdict)).bold(),
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
        heads.insert(6, Column::right(Inline::plain("Equivalence interval")));
    }
    page.table(&heads, compared.metrics.iter().map(row));
}

/// Returns for example `−0.05 to +0.07 (90 %) against ±0.2`.
fn equivalence(metric: &ComparedMetric, tested: &Finding) -> String {
    let level = tested.level().map_or(String::new(), |level| format!(" ({})", percent(level)));
    let margin = metric.margin.map_or(String::new(), |margin| format!(" against ±{}", magnitude(metric, margin)));
    format!("{}{level}{margin}", bounds(metric, tested))
}

fn beside(page: &mut Page, compared: &RunComparison) {
    let detectable = |metric: &ComparedMetric| {
        let least = metric.detectable?;
        Some(format!("{} samples detect {} or more", count(metric.difference.n()), magnitude(metric, least)))
    };
    let line = |metric: &ComparedMetric| {
        let others = metric.beside.iter().map(|it| second_test(metric, it)).chain(detectable(metric));
        name(metric).and(": ").and_text(others.collect::<Vec<_>>().join("; "))
    };
    let has_details = |metric: &&ComparedMetric| !metric.beside.is_empty() || metric.detectable.is_some();
    page.heading(2, Inline::plain("Other tests"));
    page.list(compared.metrics.iter().filter(has_details).map(line));
}
