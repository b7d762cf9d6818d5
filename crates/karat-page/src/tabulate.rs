//! The numbers of a block as a table, for documents without charts.

use crate::block::{Block, Cell, Column, Row, Rows, Stat};
use crate::chart::{curve, grid, rows};
use crate::number::{NONE, count, usd};

/// Returns what a block shows as columns and rows: those of the table, or those behind the chart. `None` for texts.
pub fn tabulate(block: &Block) -> Option<Rows> {
    Some(match block {
        Block::Stats(it) => cards(&it.stats),
        Block::Table(it) => it.rows.clone(),
        Block::Bars(it) => rows::bars::rows(it),
        Block::Forest(it) => rows::forest::rows(it),
        Block::Matrix(it) => grid::rows(it),
        Block::Curve(it) => curve::lines::rows(it),
        Block::Scatter(it) => curve::scatter::rows(it),
        Block::Histogram(it) => curve::histogram::rows(it),
        Block::Series(it) => curve::series::rows(it),
        Block::Radar(it) => curve::radar::rows(it),
        Block::Stack(it) => curve::stack::rows(it),
        Block::Excerpts(_) | Block::Text(_) | Block::Transcript(_) => return None,
    })
}

fn cards(stats: &[Stat]) -> Rows {
    let row = |stat: &Stat| {
        let value = match (&stat.words, stat.verdict) {
            (Some(words), _) => Cell::Text(words.clone()),
            (None, Some(verdict)) if stat.estimate.finite_value().is_none() => Cell::Verdict(verdict),
            _ => Cell::Value(stat.estimate.clone(), stat.scale.clone()),
        };
        Row::of(vec![Cell::text(&stat.label), value, Cell::Words(stat.note.clone().unwrap_or_default())])
    };
    let columns = vec![Column::text("Figure"), Column::number("Value"), Column::text("Remark")];
    Rows { columns, rows: stats.iter().map(row).collect(), ..Rows::default() }
}

impl Cell {
    /// Returns the cell as text, as a page shows it. A small line has none.
    pub fn to_text(&self) -> String {
        let missing =
            |reason: Option<&str>| reason.map_or_else(|| NONE.to_owned(), |reason| format!("{NONE}: {reason}"));
        match self {
            Self::Text(text) | Self::Prose(text) | Self::Words(text) | Self::Code(text) | Self::Link { text, .. } => {
                text.clone()
            }
            Self::Value(estimate, scale) => match estimate.finite_value() {
                Some(_) => scale.sentence(estimate),
                None => missing(estimate.reason.as_deref()),
            },
            Self::Difference(estimate, scale) => match (estimate.finite_value(), estimate.finite_interval()) {
                (Some(value), Some(interval)) => {
                    format!("{} {}", scale.signed_text(value), scale.signed_interval(value, interval))
                }
                (Some(value), None) => scale.signed_text(value),
                (None, _) => missing(estimate.reason.as_deref()),
            },
            Self::Count(number) => count(*number),
            Self::Money(amount) => usd(*amount),
            Self::Verdict(verdict) => verdict.word().to_owned(),
            Self::Spark(_) => String::new(),
            Self::Missing(reason) => missing(Some(reason)),
        }
    }
}
