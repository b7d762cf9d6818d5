//! The rows: one card each.

use std::cmp::Ordering;

use karat_analysis::series::{CardFilter, SeriesCard, SeriesView};
use karat_page::Head;
use karat_page::block::{Cell, Column, Row, Rows, Table};
use karat_page::component::linked::Chip;
use karat_page::number::{Estimate, Scale};

use super::links::{SeriesLinks, SeriesState, Sort};
use super::scales;
use crate::shared::moment::rfc3339;

/// Bytes of all notes together in the table.
const MOST_NOTES: usize = 1_300_000;

/// Fewest characters of a note.
const SHORTEST_NOTE: usize = 160;

/// Reads an order such as `-composite`; `None` if the table has no such column.
pub fn sorted_by(view: &SeriesView, text: &str) -> Option<Sort> {
    let name = text.strip_prefix('-').unwrap_or(text);
    let column = columns(view).iter().position(|column| column.name == name)?;
    Some(Sort { column, is_descending: text.starts_with('-'), text: text.to_owned() })
}

/// The filters with their counts.
pub(super) fn chips(view: &SeriesView, links: &SeriesLinks, state: &SeriesState) -> Vec<Chip> {
    let label = |filter: CardFilter| match filter {
        CardFilter::All => Some("all".to_owned()),
        CardFilter::BelowGate => view.gate.as_ref().map(|gate| {
            let side = if gate.is_least { "below" } else { "above" };
            format!("{side} gate {}", scales::composite(view).text(gate.bound))
        }),
        CardFilter::FailsGate => view.figures.gate_fails.map(|_| "fails any gate".to_owned()),
        CardFilter::Regressed => view.has_baseline.then(|| "regressed".to_owned()),
        CardFilter::High => view.high.map(|high| {
            let side = if view.better == karat_types::Better::Higher { "≥" } else { "≤" };
            format!("{side} {}", karat_page::number::to_digits(high, usize::from(high.abs() < 100.0)))
        }),
        CardFilter::Capped => (!view.caps.is_empty()).then(|| "capped".to_owned()),
    };
    let chosen = state.filter.unwrap_or(CardFilter::All);
    let chip = |filter: CardFilter| {
        Some(Chip {
            key: filter.key().to_owned(),
            label: label(filter)?,
            count: view.count(filter),
            href: links.is_live().then(|| links.filter(filter)),
            is_on: filter == chosen,
        })
    };
    CardFilter::ALL.into_iter().filter_map(chip).collect()
}

/// The table without rows: why, and the command that makes some.
pub(super) fn empty(view: &SeriesView) -> Table {
    let reason = match view.undated {
        0 => "No grade of this system and judge lies in these days.".to_owned(),
        n => format!("{n} grades have no date: name the column under `dataset.date`."),
    };
    Table { head: Head::new("Cards", "").when_empty(reason, format!("karat run {}", view.suite)), ..Table::default() }
}

fn columns(view: &SeriesView) -> Vec<Column> {
    let delta = view.has_baseline.then(|| Column::number("Δ baseline"));
    let axes = view.axes.iter().map(|axis| Column::number(&axis.name));
    let caps = (!view.caps.is_empty()).then(|| Column::text("Caps"));
    let sample = has_samples(view).then(|| Column::text("Sample"));
    let last = ["Judge", "Prompt version", "Notes", "Judged at"].map(Column::text);
    [Column::text("Date"), Column::number(scales::metric_name(view))]
        .into_iter()
        .chain(delta)
        .chain(axes)
        .chain(caps)
        .chain(sample)
        .chain(last)
        .collect()
}

/// The names of the columns.
pub(super) fn column_names(view: &SeriesView) -> Vec<String> {
    columns(view).into_iter().map(|column| column.name).collect()
}

/// Returns true if samples are not named after their dates.
pub(super) fn has_samples(view: &SeriesView) -> bool {
    view.cards.iter().any(|card| card.sample != card.date)
}

/// The rows of all cards.
pub(super) fn cards(view: &SeriesView, state: &SeriesState) -> Table {
    let most = (MOST_NOTES / view.cards.len().max(1)).max(SHORTEST_NOTE);
    let axes = scales::axes_in_rows(view);
    let mut rows: Vec<Row> = view.cards.iter().map(|card| row(view, card, &axes, most, state)).collect();
    if let Some(sort) = &state.sort {
        rows.sort_by(|one, other| compare(one, other, sort));
    }
    let mut head = Head::new("Cards", "");
    if view.undated > 0 {
        head = head.with_note(format!("{} grades without a date are on no card.", view.undated));
    }
    let rows = Rows {
        caption: "Cards, newest first. Choose a row to see its details and its day in the charts.".to_owned(),
        columns: columns(view),
        rows,
        left_out: 0,
        all_by: Some(format!("karat show {}", view.suite)),
    };
    Table { head, rows, filters: Vec::new(), can_search: true }
}

fn row(view: &SeriesView, card: &SeriesCard, axes: &[Scale], most: usize, state: &SeriesState) -> Row {
    let scale = scales::composite(view);
    let point = |value: Option<f64>, reason: &str| {
        value.map_or_else(|| Estimate::missing(reason), |value| Estimate::point(value, 1))
    };
    let text = |text: &Option<String>| Cell::Text(text.clone().unwrap_or_default());
    let delta = view.has_baseline.then(|| match card.delta() {
        Some(delta) => Cell::Difference(Estimate::point(delta, 1), scale.clone()),
        None => Cell::Text(String::new()),
    });
    let grades =
        card.axes.iter().zip(axes).map(|(axis, scale)| Cell::Value(point(axis.value, "no grade"), scale.clone()));
    let ids: Vec<&str> = card.caps.iter().filter_map(|at| Some(view.caps.get(*at)?.id.as_str())).collect();
    let caps = (!view.caps.is_empty()).then(|| Cell::Text(ids.join(", ")));
    let sample = has_samples(view).then(|| Cell::Text(card.sample.clone()));
    let flags = CardFilter::ALL.into_iter().filter(|it| *it != CardFilter::All && card.flags.passes(*it));
    let cells = [Cell::Text(card.date.clone()), Cell::Value(point(Some(card.composite), ""), scale.clone())]
        .into_iter()
        .chain(delta)
        .chain(grades)
        .chain(caps)
        .chain(sample)
        .chain([
            text(&card.judge),
            text(&card.prompt_version),
            Cell::Prose(cut(&card.notes, most)),
            Cell::Text(minute(card)),
        ]);
    Row {
        key: Some(card.key.clone()),
        flags: flags.map(|filter| filter.key().to_owned()).collect(),
        date: Some(card.date.clone()).filter(|date| *date != card.key),
        is_out: !state.shows(card),
        ..Row::of(cells.collect())
    }
}

/// The time of the judgment to the minute.
fn minute(card: &SeriesCard) -> String {
    let text = rfc3339(card.made_at);
    text.get(..16).map_or(text.clone(), |minute| minute.replace('T', " "))
}

/// A text of at most this many characters.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

/// Compares two rows as the script does: rows without a number stand last in both directions.
fn compare(one: &Row, other: &Row, sort: &Sort) -> Ordering {
    let number = |row: &Row| match row.cells.get(sort.column) {
        Some(Cell::Value(estimate, _) | Cell::Difference(estimate, _)) => estimate.finite_value(),
        _ => None,
    };
    let text = |row: &Row| match row.cells.get(sort.column) {
        Some(Cell::Text(text) | Cell::Prose(text) | Cell::Words(text)) => text.clone(),
        _ => String::new(),
    };
    let turned = |order: Ordering| if sort.is_descending { order.reverse() } else { order };
    match (number(one), number(other)) {
        (Some(a), Some(b)) => turned(a.total_cmp(&b)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => turned(text(one).cmp(&text(other))),
    }
}
