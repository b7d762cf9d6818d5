//! Section with one scorecard a model: every metric with its spread, and a profile of its dimensions in words.

use karat_analysis::{Group, Spread, Weighting};
use karat_page::number::Scale;
use karat_types::MetricSpec;

use crate::markdown::page::{Inline, Page, columns};
use crate::shared::figures::{self, count};
use crate::shared::report::Report;
use crate::shared::scales;

/// Differences below this share of the range count as even.
const EVEN: f64 = 0.1;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    let findings = report.findings;
    let groups = findings.ranked_groups();
    page.heading(2, Inline::plain("Scorecards"));
    let weighs_systems = |group: &Group| group.metrics.iter().any(|it| it.weighting() == Weighting::Systems);
    if groups.iter().any(weighs_systems) {
        page.paragraph(Inline::plain(
            "A figure is the mean of the figures of the group's systems: each system weighs the same, also with fewer scores. \
             n counts samples × systems, and the other columns are over those.",
        ));
    }
    for group in groups {
        page.heading(3, Inline::code(&group.id));
        profile(report, group).into_iter().for_each(|words| page.paragraph(words));
        let heads = columns(&["Metric", "Figure", "Interval", "Median", "Min", "Max", "SD", "n", "Left out"]);
        let row_of = |(at, metric): (usize, &MetricSpec)| {
            let scale = scales::scale_of(&report.findings.plan, metric);
            Some(row((metric.name.as_str(), &scale), group.metrics.get(at)?))
        };
        page.table(&heads, report.metrics().filter_map(row_of));
    }
}

fn row((name, scale): (&str, &Scale), spread: &Spread) -> Vec<Inline> {
    let number = |value| Inline::text(figures::value_or_none(scale, value));
    let interval = spread.figure().map_or(figures::NONE.to_owned(), |it| figures::interval(scale, it));
    let left_out = [(spread.n_errors(), "failed"), (spread.n_unscored(), "unscored"), (spread.n_na(), "n/a")];
    let left_out = left_out.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{} {word}", count(*n)));
    vec![
        Inline::code(name),
        number(spread.value()).bold(),
        Inline::text(interval),
        number(spread.median()),
        number(spread.min()),
        number(spread.max()),
        number(spread.stddev()),
        Inline::text(count(spread.n())),
        Inline::text(left_out.collect::<Vec<_>>().join(", ")),
    ]
}

/// A dimension with the group's position on its range.
struct DimensionScore<'a> {
    metric: &'a MetricSpec,
    value: f64,
    share: f64,
}

/// Returns the dimensions of the primary metric's scorer without the composite, best first.
fn dimension_scores<'a>(report: Report<'a>, group: &Group) -> Vec<DimensionScore<'a>> {
    let Some((primary, composite)) = report.primary() else { return Vec::new() };
    let own = report.metrics().filter(|(at, metric)| metric.scorer == composite.scorer && *at != primary);
    let standing = |(at, metric): (usize, &'a MetricSpec)| {
        let value = group.metrics.get(at)?.value()?;
        Some(DimensionScore { metric, value, share: figures::goodness(metric, value)? })
    };
    let mut all: Vec<DimensionScore<'_>> = own.filter_map(standing).collect();
    all.sort_by(|a, b| b.share.total_cmp(&a.share));
    all
}

/// Returns the profile, or `None` if there is no dimension besides the primary metric.
fn profile(report: Report<'_>, group: &Group) -> Option<Inline> {
    let scores = dimension_scores(report, group);
    let dimension_text = |it: &DimensionScore<'_>| {
        Inline::code(&it.metric.name)
            .and(" (")
            .and_text(figures::value(it.metric, it.value))
            .and(", ")
            .and(word(it.share))
            .and(")")
    };
    let words = match scores.as_slice() {
        [] => return None,
        [only] => Inline::plain("One dimension: ").then(dimension_text(only)).and("."),
        [best, .., worst] if best.share - worst.share < EVEN => Inline::plain("Even across its dimensions: from ")
            .then(dimension_text(worst))
            .and(" to ")
            .then(dimension_text(best))
            .and("."),
        [best, middle @ .., worst] => {
            let line =
                Inline::plain("Best in ").then(dimension_text(best)).and(", weakest in ").then(dimension_text(worst));
            let between = Inline::list(middle.iter().map(dimension_text));
            if middle.is_empty() { line.and(".") } else { line.and("; between them ").then(between).and(".") }
        }
    };
    Some(words)
}

/// Returns the word for a position on the range.
fn word(share: f64) -> &'static str {
    match share {
        share if share >= 0.85 => "very strong",
        share if share >= 0.7 => "strong",
        share if share >= 0.55 => "solid",
        share if share >= 0.4 => "mixed",
        _ => "weak",
    }
}
