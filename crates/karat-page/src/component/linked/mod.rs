//! A table with the charts that stand for its rows: filters, search and the chosen row act on all of them.
//!
//! Without a script, chips and the search of a live page are links and a form; those of a file are hidden.

pub mod detail;

use maud::{Markup, html};

use self::detail::Details;
use crate::block::Table;
use crate::component::table;
use crate::number::count;
use crate::text::visible::{Words, line, safe_href};

/// A filter with its address on a live page.
#[derive(Debug, Clone, Default)]
pub struct Chip {
    /// Its name in addresses, such as `below-gate`.
    pub key: String,
    /// Its words.
    pub label: String,
    /// Rows that pass it.
    pub count: u64,
    /// The address that chooses it; `None` in a file, where a script does.
    pub href: Option<String>,
    /// True if it is chosen.
    pub is_on: bool,
}

/// The search of a live page: a form that keeps the rest of the address.
#[derive(Debug, Clone, Default)]
pub struct SearchForm {
    /// The page's path.
    pub action: String,
    /// The words looked for.
    pub words: String,
    /// The orders to choose from without a script, as addresses have them.
    pub orders: Vec<String>,
    /// The chosen order.
    pub order: Option<String>,
    /// Other parts of the address.
    pub kept: Vec<(String, String)>,
}

/// A table with the charts that stand for its rows.
#[derive(Debug, Clone)]
pub struct Linked {
    /// The filters, "all" first.
    pub chips: Vec<Chip>,
    /// The search of a live page; `None` in a file, where a script searches.
    pub search: Option<SearchForm>,
    /// The charts, above the table.
    pub charts: Markup,
    /// The rows; its own filters are not used.
    pub table: Table,
    /// The panel of a chosen row.
    pub details: Details,
}

/// Renders the tools, the charts, and the table with the details of the chosen row.
pub fn render(linked: &Linked) -> Markup {
    let rows = &linked.table.rows;
    html! {
        k-table.linked search[linked.search.is_none()] rows[!rows.rows.is_empty()] {
            div.linked-content {
                div.tools-row.sticky {
                    div.chips.needs-script[linked.search.is_none()] role="group" aria-label="Filter" {
                        @for it in &linked.chips { (chip(it)) }
                    }
                    @if let Some(search) = &linked.search { (form(search)) }
                }
                (linked.charts)
                div {
                    (table::rows_of(&linked.table))
                    (table::remainder(rows))
                    @for note in &linked.table.head.notes { p.soft.small { (Words(note)) } }
                }
            }
            (detail::panel(&linked.details))
        }
    }
}

fn chip(it: &Chip) -> Markup {
    let (key, testid) = (line(&it.key), format!("filter-{}", line(&it.key)));
    let content = html! { (line(&it.label)) " " span.count { (count(it.count)) } };
    html! {
        @match it.href.as_deref().and_then(safe_href) {
            Some(href) => a.chip.button href=(href) data-filter=(key) data-testid=(testid) aria-current=[it.is_on.then_some("true")] { (content) },
            None => button.chip type="button" data-filter=(key) data-testid=(testid) aria-pressed=(it.is_on) { (content) },
        }
    }
}

fn form(search: &SearchForm) -> Markup {
    html! {
        form.search role="search" method="get" action=[safe_href(&search.action)] {
            @for (name, value) in &search.kept { input type="hidden" name=(line(name)) value=(line(value)); }
            label {
                span.hidden-text { "Search this table" }
                input type="search" name="q" placeholder="Search" data-testid="search" value=(line(&search.words));
            }
            @if !search.orders.is_empty() {
                label.without-script {
                    "Order "
                    select name="sort" {
                        option value="" { "as it is" }
                        @for order in &search.orders { option value=(line(order)) selected[search.order.as_ref() == Some(order)] { (line(order)) } }
                    }
                }
            }
            button.without-script type="submit" { "Search" }
        }
    }
}
