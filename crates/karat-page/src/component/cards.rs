//! Cards with one figure each.

use maud::{Markup, html};

use crate::block::Stat;
use crate::block::verdict;
use crate::component::table;
use crate::draw::sparkline;
use crate::text::visible::{Words, line};

/// Renders cards in their order.
pub fn render(stats: &[Stat]) -> Markup {
    html! { ul.cards { @for stat in stats { (card(stat)) } } }
}

fn card(stat: &Stat) -> Markup {
    let value = stat.estimate.finite_value();
    html! {
        li.card data-testid="stat-card" data-stat=(line(&stat.key)) data-value=[value.map(|value| value.to_string())] {
            span.label {
                @match &stat.href { Some(href) => (table::link(&stat.label, href)), None => (line(&stat.label)) }
            }
            @if let Some(words) = &stat.words {
                span.value.text { (line(words)) }
            } @else if let Some(value) = value {
                span.value { (stat.scale.text(value)) }
                @if let Some(interval) = stat.estimate.finite_interval() {
                    span.interval data-testid="interval" { (stat.scale.interval(value, interval)) }
                }
            } @else {
                span.value.text { (table::missing(stat.estimate.reason.as_deref())) }
            }
            @if stat.trend.len() > 1 { (sparkline::draw(&stat.trend)) }
            @if let Some(verdict) = stat.verdict { (verdict::mark(verdict)) }
            @if stat.estimate.n > 0 { (table::observations(stat.estimate.n)) }
            @if let Some(note) = &stat.note { span.note { (Words(note)) } }
        }
    }
}
