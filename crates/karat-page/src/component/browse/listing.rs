//! A table that the server sorts. A row may open in place: its second row is shown while the `details` in the first is open.

use maud::{Markup, html};

use crate::text::visible::line;

/// The order of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The smallest first.
    Ascending,
    /// The largest first.
    Descending,
}

/// A column.
#[derive(Debug, Clone, Default)]
pub struct ListColumn {
    /// Its name.
    pub name: String,
    /// True if it holds numbers, which stand on the right.
    pub is_number: bool,
    /// The address of the list sorted by it, if it can be.
    pub sort: Option<String>,
    /// The direction in which the list is sorted by it now.
    pub direction: Option<Direction>,
    /// True if a narrow screen has no room for the column: its content stands below the name of the row there.
    pub is_wide_only: bool,
    /// True if its texts may take several lines, so that the other columns have room.
    pub wraps: bool,
}

impl ListColumn {
    /// A column of texts that sorts nothing.
    pub fn text(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The same column, whose content stands below the name of the row on a narrow screen.
    #[must_use]
    pub fn wide_only(self) -> Self {
        Self { is_wide_only: true, ..self }
    }

    /// The same column, whose texts may take several lines.
    #[must_use]
    pub fn wrapping(self) -> Self {
        Self { wraps: true, ..self }
    }

    /// A column of numbers that sorts nothing.
    pub fn number(name: impl Into<String>) -> Self {
        Self { name: name.into(), is_number: true, ..Self::default() }
    }
}

/// A row.
#[derive(Debug, Clone)]
pub struct ListRow {
    /// The thing that the row stands for.
    pub key: String,
    /// The cells, the first of which names the row.
    pub cells: Vec<Markup>,
    /// The content that the row shows when it is opened.
    pub more: Option<Markup>,
    /// The value that the box at the beginning of the row sends, if rows can be ticked.
    pub tick: Option<String>,
}

/// A list.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The caption.
    pub caption: String,
    /// Name of each row in tests, such as `cell-row`.
    pub row_name: String,
    /// The noun of a row, for labels: `run`, `cell`.
    pub noun: String,
    /// The columns.
    pub columns: Vec<ListColumn>,
    /// The rows.
    pub rows: Vec<ListRow>,
    /// Name of the field that boxes send, if rows can be ticked.
    pub tick_field: Option<String>,
}

/// Renders a list.
pub fn render(list: &Listing) -> Markup {
    let has_more = list.rows.iter().any(|row| row.more.is_some());
    let width = list.columns.len() + usize::from(has_more) + usize::from(list.tick_field.is_some());
    html! {
        k-table rows {
            div.wide.listing tabindex="0" role="region" aria-label=(line(&list.caption)) {
                table {
                    caption.hidden-text { (line(&list.caption)) }
                    thead { tr {
                        @if list.tick_field.is_some() { th.slim scope="col" { span.hidden-text { "Choose" } } }
                        @if has_more { th.slim scope="col" { span.hidden-text { "Open" } } }
                        @for column in &list.columns { (head(column)) }
                    } }
                    tbody { @for row in &list.rows { (body_row(list, row, has_more, width)) } }
                }
            }
        }
    }
}

fn head(column: &ListColumn) -> Markup {
    let sorted = column.direction.map(|direction| match direction {
        Direction::Ascending => "ascending",
        Direction::Descending => "descending",
    });
    html! {
        th.number[column.is_number].wide-only[column.is_wide_only] scope="col" aria-sort=[sorted] {
            @match &column.sort {
                Some(href) => a.sort href=(href) { (line(&column.name)) },
                None => (line(&column.name)),
            }
        }
    }
}

/// The content of columns for which a narrow screen has no room: there, a second row over the whole width.
fn narrow_row(list: &Listing, row: &ListRow, width: usize) -> Markup {
    let columns =
        list.columns.iter().zip(&row.cells).filter(|(column, cell)| column.is_wide_only && !cell.0.is_empty());
    let columns: Vec<_> = columns.collect();
    html! {
        @if !columns.is_empty() {
            tr.narrow-only {
                td colspan=(width) { dl { @for (column, cell) in columns { div { dt { (line(&column.name)) } dd { (cell) } } } } }
            }
        }
    }
}

fn body_row(list: &Listing, row: &ListRow, has_more: bool, width: usize) -> Markup {
    let key = line(&row.key);
    html! {
        tr data-testid=(line(&list.row_name)) data-cell=(key) {
            @if let Some(field) = &list.tick_field {
                td.slim {
                    @if let Some(value) = &row.tick {
                        input type="checkbox" name=(field) value=(value) aria-label={ "Choose " (list.noun) " " (key) };
                    }
                }
            }
            @if has_more {
                td.slim {
                    @if row.more.is_some() {
                        details.opener { summary aria-label={ "Details of " (list.noun) " " (key) } {} }
                    }
                }
            }
            @for (at, cell) in row.cells.iter().enumerate() {
                @let column = list.columns.get(at).cloned().unwrap_or_default();
                @if at == 0 { th.number[column.is_number].wraps[column.wraps] scope="row" { (cell) } }
                @else { td.number[column.is_number].wide-only[column.is_wide_only].wraps[column.wraps] { (cell) } }
            }
        }
        (narrow_row(list, row, width))
        @if let Some(more) = &row.more { tr.more { td colspan=(width) { (more) } } }
    }
}
