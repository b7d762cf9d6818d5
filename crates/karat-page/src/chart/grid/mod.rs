//! Two dimensions: `counts` prints a matrix of categories, `heatmap` draws systems against samples.

mod counts;
mod heatmap;

use maud::Markup;

use crate::block::{Matrix, MatrixShape};

/// Renders a matrix by its kind.
pub(crate) fn render(matrix: &Matrix) -> Markup {
    match &matrix.shape {
        MatrixShape::Counts => counts::render(matrix),
        MatrixShape::Scores(scale) => heatmap::render(matrix, scale),
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
