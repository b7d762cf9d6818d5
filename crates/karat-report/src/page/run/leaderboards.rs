//! Rankings: the headline metrics first. A rank is a range where tests leave it open.

use karat_analysis::Leaderboard;
use karat_page::component::metrics::{self, Place};
use karat_page::component::verdict::Verdict;
use karat_page::number::{Estimate, Scale, count, count_noun};
use karat_page::text::visible::line;
use karat_page::{Markup, html};

use crate::page::sections::{disclosure, remarks};
use crate::shared::ranking;
use crate::shared::report::Report;
use crate::shared::scales;

/// Number of places shown of a ranking.
const PLACES: usize = 20;

/// Number of rankings shown at once.
const BOARDS: usize = 2;

pub(super) fn section(report: Report<'_>) -> Markup {
    // A single system is not ranked.
    if report.findings.systems.len() < 2 {
        return html! {};
    }
    let mut order: Vec<usize> = report.headline().into_iter().map(|(at, _)| at).collect();
    order.extend(report.metrics().map(|(at, _)| at).filter(|at| !order.contains(at)).collect::<Vec<_>>());
    let boards: Vec<Markup> = order.iter().filter_map(|at| board(report, *at)).collect();
    let (first, rest) = boards.split_at(boards.len().min(BOARDS));
    let rest_content = html! { div.pair { @for board in rest { (board) } } };
    html! {
        @if let Some(warning) = report.findings.plan.script_warning() { p.soft { (line(&warning)) } }
        @if !report.findings.models.is_empty() && report.findings.plan.variants.len() > 1 {
            p.soft { "A score is the mean over variants, each with the same weight; n counts samples × variants." }
        }
        div.pair { @for board in first { (board) } }
        @if !rest.is_empty() { (disclosure(&count_noun(rest.len() as u64, "more leaderboard"), &rest_content)) }
    }
}

fn board(report: Report<'_>, at: usize) -> Option<Markup> {
    let metric = report.findings.plan.metrics.get(at).filter(|metric| !metric.by_words)?;
    let board = report.findings.leaderboards.get(at)?;
    let scale = scales::scale_of(&report.findings.plan, metric);
    let places = places(board, &scale);
    let mut notes = vec![format!(
        "{} of {} scored sample × variant pairs are shared by all ranked ({} samples).",
        count(board.shared),
        count(board.scored),
        count(board.shared_samples)
    )];
    let unranked: Vec<&str> = board.gaps.iter().filter(|gap| gap.unranked).map(|gap| gap.id.as_str()).collect();
    if !unranked.is_empty() {
        notes.push(format!("Not ranked because there is no score: {}.", unranked.join(", ")));
    }
    if board.places.len() > PLACES {
        notes.push(format!("The first {PLACES} of {} are shown; report.json has all.", board.places.len()));
    }
    Some(html! {
        div.panel {
            @if places.is_empty() {
                h3 { (line(&metric.name)) }
                p.soft { (ranking::reason_for_none(board)) }
            } @else { (metrics::leaderboard(&metric.name, &scale, &places)) }
            @if !board.order_dependent { (remarks(&notes)) }
        }
    })
}

fn places(board: &Leaderboard, scale: &Scale) -> Vec<Place> {
    let is_open = ranking::is_open(board);
    let place = |(at, place): (usize, &karat_analysis::RankedPlace)| {
        let behind = board.lead.as_ref().filter(|_| at == 1).map(|lead| {
            let ahead = scales::difference(lead);
            Estimate {
                value: ahead.value.map(|value| -value),
                interval: ahead.interval.map(|(lo, hi)| (-hi, -lo)),
                ..ahead
            }
        });
        let verdict = behind.as_ref().map(|_| if is_open { Verdict::Undecided } else { Verdict::Worse });
        Place {
            rank: ranking::place_text(at, place),
            system: place.id.clone(),
            estimate: scales::estimate(scale, &place.finding),
            behind,
            verdict,
        }
    };
    board.places.iter().enumerate().take(PLACES).map(place).collect()
}
