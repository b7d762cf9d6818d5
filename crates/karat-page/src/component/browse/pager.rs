//! The place in a list, and the links to the pages before and after.

use maud::{Markup, html};

use crate::number::{count, count_noun};
use crate::text::visible::line;

/// The place in a list.
#[derive(Debug, Clone, Default)]
pub struct Pager {
    /// Position of the first shown row, from 1.
    pub first: u64,
    /// Position of the last shown row.
    pub last: u64,
    /// Rows of the whole list.
    pub total: u64,
    /// The noun of a row.
    pub noun: String,
    /// A remark on the total, such as the number of cells behind the rows.
    pub note: Option<String>,
    /// The address of the page before.
    pub previous: Option<String>,
    /// The address of the page after.
    pub next: Option<String>,
}

/// Renders the place and the links.
pub fn render(pager: &Pager) -> Markup {
    html! {
        nav.pager aria-label="Pages" {
            p.soft {
                @if pager.total == 0 { "None" }
                @else { (count(pager.first)) "–" (count(pager.last)) " of " (count_noun(pager.total, &pager.noun)) }
                @if let Some(note) = &pager.note { " (" (line(note)) ")" }
            }
            (neighbours(pager.previous.as_deref(), pager.next.as_deref(), "Previous", "Next"))
        }
    }
}

/// Renders links to what stands before and after. The keys `[` and `]` follow them.
pub fn neighbours(previous: Option<&str>, next: Option<&str>, before: &str, after: &str) -> Markup {
    html! {
        ul.chips.plain-list {
            @if let Some(href) = previous { li { a.button href=(href) rel="prev" data-testid="prev" { "← " (before) } } }
            @if let Some(href) = next { li { a.button href=(href) rel="next" data-testid="next" { (after) " →" } } }
        }
    }
}
