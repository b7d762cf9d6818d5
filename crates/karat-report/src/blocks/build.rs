//! Short forms of blocks, so that a mapping reads as its content.

use karat_analysis::Finding;
use karat_page::block::{Block, Cell, Column, Head, Row, Rows, Stat, Stats, Table};
use karat_page::number::{Estimate, Scale, Unit};

use crate::shared::scales;

/// Largest number of rows of a table in a panel; what is left out is counted.
pub(crate) const ROWS: usize = 200;

/// Columns of text.
pub(crate) fn texts<const N: usize>(names: [&str; N]) -> Vec<Column> {
    names.map(Column::text).to_vec()
}

/// One column of text, then columns of numbers.
pub(crate) fn numbers<const N: usize>(first: &str, names: [&str; N]) -> Vec<Column> {
    [Column::text(first)].into_iter().chain(names.map(Column::number)).collect()
}

/// Columns and rows, of which the first [`ROWS`] are kept.
pub(crate) fn rows(columns: Vec<Column>, rows: impl IntoIterator<Item = Vec<Cell>>) -> Rows {
    let mut all = rows.into_iter();
    let kept: Vec<Row> = all.by_ref().take(ROWS).map(Row::of).collect();
    Rows { columns, rows: kept, left_out: all.count() as u64, ..Rows::default() }
}

/// A table.
pub(crate) fn table(head: Head, columns: Vec<Column>, cells: impl IntoIterator<Item = Vec<Cell>>) -> Block {
    Block::Table(Table { head, rows: rows(columns, cells), ..Table::default() })
}

/// A table, or nothing if it has no row.
pub(crate) fn table_if_any(
    head: Head,
    columns: Vec<Column>,
    cells: impl IntoIterator<Item = Vec<Cell>>,
) -> Option<Block> {
    let rows = rows(columns, cells);
    (!rows.rows.is_empty()).then(|| Block::Table(Table { head, rows, ..Table::default() }))
}

/// A number on a scale, or `n/a`.
pub(crate) fn value(value: Option<f64>, scale: &Scale) -> Cell {
    let estimate = value.map_or_else(Estimate::default, |value| Estimate::point(value, 0));
    Cell::Value(estimate, scale.clone())
}

/// A finding with its interval, or `n/a`.
pub(crate) fn figure(finding: Option<&Finding>, scale: &Scale) -> Cell {
    Cell::Value(scales::estimate_or_none(scale, finding), scale.clone())
}

/// A difference with its interval, or `n/a`.
pub(crate) fn difference(finding: Option<&Finding>, scale: &Scale) -> Cell {
    Cell::Difference(finding.map_or_else(Estimate::default, scales::difference), scale.clone())
}

/// A count, or `n/a`.
pub(crate) fn count(number: Option<u64>) -> Cell {
    number.map_or_else(|| value(None, &Scale::of(Unit::Count)), Cell::Count)
}

/// Text on several lines.
pub(crate) fn prose(text: impl Into<String>) -> Cell {
    Cell::Prose(text.into())
}

/// A card with a count.
pub(crate) fn count_card(key: &str, label: &str, number: u64, note: Option<String>) -> Stat {
    let estimate = Estimate::point(number as f64, 0);
    Stat { estimate, scale: Scale::of(Unit::Count), note, ..stat(key, label) }
}

/// A card with words.
pub(crate) fn word_card(key: &str, label: &str, words: impl Into<String>) -> Stat {
    Stat { words: Some(words.into()), ..stat(key, label) }
}

/// A card with a figure.
pub(crate) fn figure_card(key: &str, label: &str, finding: Option<&Finding>, scale: &Scale) -> Stat {
    Stat { estimate: scales::estimate_or_none(scale, finding), scale: scale.clone(), ..stat(key, label) }
}

fn stat(key: &str, label: &str) -> Stat {
    Stat { key: key.to_owned(), label: label.to_owned(), ..Stat::default() }
}

/// Cards.
pub(crate) fn stats(head: Head, stats: Vec<Stat>) -> Block {
    Block::Stats(Stats { head, stats })
}
