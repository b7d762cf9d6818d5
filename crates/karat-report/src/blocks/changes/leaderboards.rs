//! Rankings as blocks: a table for each metric, and what it is based on. A rank is a range where tests leave it open.

use karat_analysis::{DeltaAxis, Leaderboard, RankedPlace};
use karat_page::block::verdict::Verdict;
use karat_page::block::{Block, Cell, Column, Head};
use karat_page::number::count;
use karat_types::MetricSpec;

use crate::blocks::build::{difference, figure, table};
use crate::shared::figures::difference_with_method;
use crate::shared::ranking;
use crate::shared::report::Report;
use crate::shared::scales;

/// Returns the ranking of each metric, the headline metrics first; none where a single system ran.
pub(crate) fn blocks(report: Report<'_>) -> Vec<Block> {
    if report.findings.systems.len() < 2 {
        return Vec::new();
    }
    let mut order: Vec<usize> = report.headline().into_iter().map(|(at, _)| at).collect();
    order.extend(report.metrics().map(|(at, _)| at).filter(|at| !order.contains(at)).collect::<Vec<_>>());
    let board = |at: &usize| {
        let metric = report.findings.plan.metrics.get(*at).filter(|metric| !metric.by_words)?;
        Some(board(report, metric, report.findings.leaderboards.get(*at)?))
    };
    order.iter().filter_map(board).collect()
}

/// Returns what holds for all rankings: what a score joins, and who graded.
pub(crate) fn notes(report: Report<'_>) -> Vec<String> {
    let joins = report.findings.ranked_axis() == DeltaAxis::Model && report.findings.plan.variants.len() > 1;
    let joined = "A score is the mean over variants, each with the same weight; n counts samples × variants.";
    report.findings.plan.script_warning().into_iter().chain(joins.then(|| joined.to_owned())).collect()
}

fn board(report: Report<'_>, metric: &MetricSpec, board: &Leaderboard) -> Block {
    let scale = scales::scale_of(&report.findings.plan, metric);
    let is_open = ranking::is_open(board);
    let row = |(at, place): (usize, &RankedPlace)| {
        let behind = board.lead.as_ref().filter(|_| at == 1).map(|lead| lead.clone().negate());
        let verdict = if is_open { Verdict::Undecided } else { Verdict::Worse };
        vec![
            Cell::Text(ranking::place_text(at, place)),
            Cell::text(&place.id),
            figure(Some(&place.finding), &scale),
            Cell::Count(place.finding.n()),
            behind.as_ref().map_or_else(|| Cell::text(""), |behind| difference(Some(behind), &scale)),
            behind.as_ref().map_or_else(|| Cell::text(""), |_| Cell::Verdict(verdict)),
        ]
    };
    let kind = if report.findings.ranked_axis() == DeltaAxis::Model { "Model" } else { "Variant" };
    let columns = vec![
        Column::number("Rank"),
        Column::text(kind),
        Column::number("Score"),
        Column::number("n"),
        Column::number("Behind the first"),
        Column::text("Verdict"),
    ];
    let mut head = Head::new(&metric.name, "Who leads?").when_empty_because(ranking::reason_for_none(board));
    if !board.order_dependent {
        head.notes = basis(metric, board);
    }
    table(head, columns, board.places.iter().enumerate().map(row))
}

/// The basis of a ranking.
fn basis(metric: &MetricSpec, board: &Leaderboard) -> Vec<String> {
    let mut lines = vec![format!(
        "{} of {} scored sample × variant pairs are shared by all that are ranked ({} samples).",
        count(board.shared),
        count(board.scored),
        count(board.shared_samples)
    )];
    let left_out = board.gaps.iter().filter(|gap| !gap.unranked);
    let left_out: Vec<String> = left_out.map(|gap| format!("{} {}", gap.id, count(gap.not_shared))).collect();
    if !left_out.is_empty() {
        lines.push(format!("Scored pairs left out because another has no score there: {}.", left_out.join(", ")));
    }
    let unranked: Vec<&str> = board.gaps.iter().filter(|gap| gap.unranked).map(|gap| gap.id.as_str()).collect();
    if !unranked.is_empty() {
        lines.push(format!("Not ranked because there is no score: {}.", unranked.join(", ")));
    }
    if let (Some(lead), [first, second, ..]) = (&board.lead, board.places.as_slice()) {
        let open = if ranking::is_open(board) { ": who is first is undecided." } else { "." };
        let figure = difference_with_method(metric, lead);
        lines.push(format!("{} − {}, paired: {figure}{open}", first.id, second.id));
    }
    lines
}
