//! Tables: of numbers behind a chart, and tables that a reader filters, sorts and searches.

use maud::{Markup, html};

use crate::block::verdict;
use crate::block::{Cell, Column, Row, Rows, Table};
use crate::component::state;
use crate::draw::sparkline;
use crate::number::{NONE, count, count_noun, usd};
use crate::text::visible::{Line, Words, is_whole, line, lines, safe_href};

/// Most rows of one table; the rest is counted.
pub const MOST_ROWS: usize = 2_000;

/// Rows from which on a table scrolls within its frame, so that what follows it is within reach.
const LONG: usize = 16;

/// A table without tools. It scrolls sideways where it is too wide, also by keyboard.
pub fn plain(rows: &Rows) -> Markup {
    html! { (wide(rows, false, None)) (remainder(rows)) }
}

/// A table with filters, search and sorting. Without a script it is a table.
pub fn interactive(table: &Table) -> Markup {
    let rows = &table.rows;
    let has_keys = rows.rows.iter().any(|row| row.key.is_some());
    let all = rows.rows.len() as u64;
    html! {
        k-table search[table.can_search] rows[has_keys] {
            @if table.can_search || !table.filters.is_empty() {
                div.tools-row {
                    @if !table.filters.is_empty() {
                        div.chips.needs-script role="group" aria-label="Filter" {
                            (chip("all", "all", all, true))
                            @for filter in &table.filters { (chip(&filter.key, &filter.label, filter.count, false)) }
                        }
                    }
                }
            }
            (rows_of(table))
        }
        (remainder(rows))
    }
}

/// The rows of a table that a script sorts and filters, without its tools.
pub(crate) fn rows_of(table: &Table) -> Markup {
    let has_keys = table.rows.rows.iter().any(|row| row.key.is_some());
    wide(&table.rows, true, Some("series-table").filter(|_| has_keys))
}

fn chip(key: &str, label: &str, number: u64, is_on: bool) -> Markup {
    html! {
        button.chip type="button" data-filter=(line(key)) data-testid={"filter-" (line(key))} aria-pressed=(is_on) {
            (line(label)) " " span.count { (count(number)) }
        }
    }
}

fn wide(rows: &Rows, can_sort: bool, testid: Option<&str>) -> Markup {
    let name = if rows.caption.is_empty() { "Table" } else { &rows.caption };
    // The rows of a page of their own are as long as they are.
    let is_long = testid.is_none() && rows.rows.len() > LONG;
    html! {
        div.wide.long[is_long] tabindex="0" role="region" aria-label=(line(name)) {
            table data-testid=[testid] {
                @if !rows.caption.is_empty() { caption { (line(&rows.caption)) } }
                thead { tr { @for column in &rows.columns { (head(column, can_sort)) } } }
                tbody { @for row in rows.rows.iter().take(MOST_ROWS) { (body_row(row, &rows.columns)) } }
            }
        }
    }
}

pub(crate) fn remainder(rows: &Rows) -> Markup {
    let beyond = rows.rows.len().saturating_sub(MOST_ROWS) as u64;
    state::left_out(rows.left_out + beyond, "row", rows.all_by.as_deref())
}

fn head(column: &Column, can_sort: bool) -> Markup {
    let name = line(&column.name);
    html! {
        th.number[column.is_number] scope="col" data-sort=[can_sort.then_some(&name)] { (name) }
    }
}

fn body_row(row: &Row, columns: &[Column]) -> Markup {
    let flags = (!row.flags.is_empty()).then(|| line(&row.flags.join(" ")).into_owned());
    let key = row.key.as_deref().map(line);
    let testid = row.key.is_some().then_some("series-row");
    html! {
        tr data-key=[&key] data-date=[row.date.as_deref().map(line).or(key.clone())] data-testid=[testid] data-flags=[flags] hidden[row.is_out] {
            @for (at, cell) in row.cells.iter().enumerate() {
                @let is_number = columns.get(at).is_some_and(|column| column.is_number);
                @let value = number_of(cell);
                @if at == 0 {
                    th.number[is_number] scope="row" data-value=[value] { (content(cell)) }
                } @else {
                    td.number[is_number] .prose[matches!(cell, Cell::Prose(_) | Cell::Words(_))] data-value=[value] { (content(cell)) }
                }
            }
        }
    }
}

/// Returns the number that a cell is sorted by, in full precision.
fn number_of(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Value(estimate, _) | Cell::Difference(estimate, _) => {
            estimate.finite_value().map(|value| value.to_string())
        }
        Cell::Count(number) => Some(number.to_string()),
        Cell::Money(amount) => amount.map(|amount| amount.to_string()),
        _ => None,
    }
}

/// Renders a cell.
pub fn content(cell: &Cell) -> Markup {
    match cell {
        Cell::Text(text) => html! { bdi.whole[is_whole(text)] { (line(text)) } },
        Cell::Prose(text) => html! { bdi { (lines(text)) } },
        Cell::Words(text) => html! { bdi { (Words(text)) } },
        Cell::Code(text) => html! { code { (Line(text)) } },
        Cell::Count(number) => html! { (count(*number)) },
        Cell::Money(amount) => html! { (usd(*amount)) },
        Cell::Verdict(verdict) => verdict::mark(*verdict),
        Cell::Spark(values) => sparkline::draw(values),
        Cell::Missing(reason) => html! { (missing(Some(reason))) },
        Cell::Link { text, href } => link(text, href),
        Cell::Value(estimate, scale) => html! {
            @if let Some(value) = estimate.finite_value() {
                (scale.text(value))
                @if let Some(interval) = estimate.finite_interval() { " " span.interval { (scale.interval(value, interval)) } }
            } @else { (missing(estimate.reason.as_deref())) }
        },
        Cell::Difference(estimate, scale) => html! {
            @if let Some(value) = estimate.finite_value() {
                (scale.signed_text(value))
                @if let Some(interval) = estimate.finite_interval() { " " span.interval { (scale.signed_interval(value, interval)) } }
            } @else { (missing(estimate.reason.as_deref())) }
        },
    }
}

/// `n/a` with its reason.
pub fn missing(reason: Option<&str>) -> Markup {
    html! { span.reason { (NONE) @if let Some(reason) = reason { ": " (Words(reason)) } } }
}

/// A link, or its words if a page may not lead there.
pub fn link(text: &str, href: &str) -> Markup {
    match safe_href(href) {
        Some(href) => html! { a href=(href) { (Line(text)) } },
        None => html! { (Line(text)) },
    }
}

/// The number of observations beside a value.
pub fn observations(n: u64) -> Markup {
    html! { span.count-n title=(count_noun(n, "observation")) { "n = " (count(n)) } }
}
