//! Two dimensions: `counts` prints a matrix of categories, `heatmap` draws systems against samples.

mod counts;
mod heatmap;

use maud::Markup;

use crate::block::{Cell, Column, Matrix, MatrixShape, Row, Rows};
use crate::number::{Estimate, Scale, Unit};

/// Renders a matrix by its kind.
pub(crate) fn render(matrix: &Matrix) -> Markup {
    match &matrix.shape {
        MatrixShape::Counts => counts::render(matrix),
        MatrixShape::Scores(scale) => heatmap::render(matrix, scale),
    }
}

/// Returns the numbers: for scores, samples as rows.
pub(crate) fn rows(matrix: &Matrix) -> Rows {
    let counts = match &matrix.shape {
        MatrixShape::Scores(scale) => return heatmap::table(matrix, scale, &[]),
        MatrixShape::Counts => Scale::of(Unit::Count),
    };
    let (down, across) = &matrix.axes;
    let value = |row: usize, column: usize| match cell(matrix, row, column) {
        Some(count) => Cell::Value(Estimate::point(count, 0), counts.clone()),
        None => Cell::Missing("no value".to_owned()),
    };
    let row = |(at, name): (usize, &String)| {
        Row::of(
            [Cell::text(name)].into_iter().chain((0..matrix.columns.len()).map(|column| value(at, column))).collect(),
        )
    };
    let columns = matrix.columns.iter().map(Column::number);
    Rows {
        columns: [Column::text(format!("{down} \\ {across}"))].into_iter().chain(columns).collect(),
        rows: matrix.rows.iter().enumerate().map(row).collect(),
        ..Rows::default()
    }
}

/// Returns the cell, if there is one.
fn cell(matrix: &Matrix, row: usize, column: usize) -> Option<f64> {
    matrix.cells.get(row)?.get(column).copied().flatten().filter(|value| value.is_finite())
}

/// Returns the step of a share from 0 to 1, from 1 to 5.
fn step(share: f64) -> usize {
    1 + (share.clamp(0.0, 1.0) * 5.0).floor().min(4.0) as usize
}
