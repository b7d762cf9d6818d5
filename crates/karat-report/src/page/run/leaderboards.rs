//! Rankings: the headline metrics first.

use karat_page::number::count_noun;
use karat_page::text::visible::Words;
use karat_page::{Block, Markup, html, render};

use crate::blocks::changes::leaderboards;
use crate::page::sections::disclosure;
use crate::shared::report::Report;

/// Number of rankings shown at once.
const BOARDS: usize = 2;

pub(super) fn section(report: Report<'_>) -> Markup {
    let boards = leaderboards::blocks(report);
    if boards.is_empty() {
        return html! {};
    }
    let shown = |board: &Block| html! { div data-testid="leaderboard" { (render(board)) } };
    let (first, rest) = boards.split_at(boards.len().min(BOARDS));
    let rest_content = html! { div.pair { @for board in rest { (shown(board)) } } };
    html! {
        @for note in leaderboards::notes(report) { p.soft { (Words(&note)) } }
        div.pair { @for board in first { (shown(board)) } }
        @if !rest.is_empty() { (disclosure(&count_noun(rest.len() as u64, "more leaderboard"), &rest_content)) }
    }
}
