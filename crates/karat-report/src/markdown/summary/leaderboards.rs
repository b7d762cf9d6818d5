//! Section with the rankings and the pairs they are based on.

use karat_analysis::Leaderboard;
use karat_types::MetricSpec;

use crate::markdown::page::{Column, Inline, Page};
use crate::shared::figures::{self, count};
use crate::shared::ranking;
use crate::shared::report::Report;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    // A single system is not ranked; its figures are in the summary table.
    if report.findings.systems.len() < 2 {
        return;
    }
    page.heading(2, Inline::plain("Leaderboards"));
    if !report.findings.models.is_empty() && report.findings.plan.variants.len() > 1 {
        page.paragraph(Inline::plain(
            "A score is the mean over variants, each with the same weight; n counts samples × variants.",
        ));
    }
    if let Some(warning) = report.findings.plan.script_warning() {
        page.paragraph(Inline::sentence(&warning));
    }
    let ranked = if report.findings.models.is_empty() { "Variant" } else { "Model" };
    for (at, metric) in report.metrics().filter(|(_, metric)| !metric.by_words) {
        if let Some(board) = report.findings.leaderboards.get(at) {
            page.heading(3, Inline::code(&metric.name));
            write_board(page, metric, board, ranked);
        }
    }
}

/// Writes one ranking. `ranked` names the kind of its entries.
fn write_board(page: &mut Page, metric: &MetricSpec, board: &Leaderboard, ranked: &'static str) {
    if board.places.is_empty() {
        page.paragraph(Inline::plain(ranking::reason_for_none(board)));
        if board.order_dependent {
            return;
        }
    } else {
        let heads = [
            Column::right(Inline::plain("Rank")),
            Column::left(Inline::plain(ranked)),
            Column::right(Inline::plain("Score")),
            Column::right(Inline::plain("Interval")),
            Column::right(Inline::plain("n")),
        ];
        page.table(
            &heads,
            board.places.iter().enumerate().map(|(at, place)| {
                vec![
                    Inline::text(ranking::place_text(at, place)),
                    Inline::code(&place.id),
                    Inline::text(figures::value(metric, place.finding.value())).bold(),
                    Inline::text(figures::interval(metric, &place.finding)),
                    Inline::text(count(place.finding.n())),
                ]
            }),
        );
    }
    page.list(basis(metric, board));
}

fn basis(metric: &MetricSpec, board: &Leaderboard) -> Vec<Inline> {
    let mut lines = vec![
        Inline::text(count(board.shared))
            .and(" of ")
            .and_text(count(board.scored))
            .and(" scored sample × variant pairs are shared by all ranked models (")
            .and_text(count(board.shared_samples))
            .and(" samples)."),
    ];
    let left_out = board.gaps.iter().filter(|gap| !gap.unranked);
    let left_out: Vec<Inline> =
        left_out.map(|gap| Inline::code(&gap.id).and(" ").and_text(count(gap.not_shared))).collect();
    if !left_out.is_empty() {
        let why = Inline::plain("Scored pairs left out because another model has no score there: ");
        lines.push(why.then(Inline::list(left_out)).and("."));
    }
    let unranked: Vec<Inline> = board.gaps.iter().filter(|gap| gap.unranked).map(|gap| Inline::code(&gap.id)).collect();
    if !unranked.is_empty() {
        lines.push(Inline::plain("Not ranked because there is no score: ").then(Inline::list(unranked)).and("."));
    }
    if let (Some(lead), [first, second, ..]) = (&board.lead, board.places.as_slice()) {
        let verdict = match ranking::is_open(board) {
            false => ".",
            true => ": who is first is undecided.",
        };
        lines.push(
            Inline::code(&first.id)
                .and(" − ")
                .and_code(&second.id)
                .and(", paired: ")
                .and_text(figures::difference_with_method(metric, lead))
                .and(verdict),
        );
    }
    lines
}
