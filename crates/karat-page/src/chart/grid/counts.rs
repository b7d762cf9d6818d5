//! A matrix of counts, coloured by the share of its row. It is a table, so it needs none beside it.

use maud::{Markup, html};

use crate::block::Matrix;
use crate::chart::grid::{cell, step};
use crate::number::{Scale, Unit, share};
use crate::text::visible::{Name, line};

/// Most categories; the rest are added up as "other".
const MOST: usize = 12;

pub(crate) fn render(matrix: &Matrix) -> Markup {
    let (rows, columns) = (groups(&matrix.rows), groups(&matrix.columns));
    let counts: Vec<Vec<Option<f64>>> =
        rows.iter().map(|row| columns.iter().map(|column| sum(matrix, &row.1, &column.1)).collect()).collect();
    // Equal names on both sides: the diagonal is where they agree.
    let is_square = rows.iter().map(|it| &it.0).eq(columns.iter().map(|it| &it.0));
    let (row_axis, column_axis) = (line(&matrix.axes.0), line(&matrix.axes.1));
    html! {
        div.chart data-testid="matrix" data-points=(counts.iter().flatten().flatten().count()) {
            p.soft.small { "Rows: " (row_axis) ". Columns: " (column_axis) ". The stronger the colour, the larger the share of its row." }
            div.wide tabindex="0" role="region" aria-label={ (row_axis) " by " (column_axis) } {
                table.matrix {
                    caption.hidden-text { "Rows: " (row_axis) ". Columns: " (column_axis) "." }
                    thead { tr {
                        td {}
                        @for (name, _) in &columns { th scope="col" { (Name(name)) } }
                    } }
                    tbody {
                        @for (at, (name, _)) in rows.iter().enumerate() {
                            tr {
                                th scope="row" { (Name(name)) }
                                @let counts = counts.get(at).map_or(&[][..], Vec::as_slice);
                                @let total: f64 = counts.iter().flatten().sum();
                                @for (column, count) in counts.iter().enumerate() {
                                    (count_cell(*count, total, is_square && at == column))
                                }
                            }
                        }
                    }
                }
            }
            @if matrix.rows.len() > MOST || matrix.columns.len() > MOST {
                p.soft.small { "Categories beyond the first " (MOST) " are added up as “other”." }
            }
        }
    }
}

fn count_cell(count: Option<f64>, total: f64, is_diagonal: bool) -> Markup {
    match count {
        None => html! { td.missing title="no value" { "n/a" } },
        Some(count) => {
            let of_row = if total > 0.0 { count / total } else { 0.0 };
            html! {
                td class={"h" (step(of_row)) @if is_diagonal { " diagonal-cell" }} title={ (share(of_row)) " of its row" } {
                    (Scale::of(Unit::Count).text(count))
                }
            }
        }
    }
}

/// Names with the indices that they stand for; the last may be "other".
fn groups(names: &[String]) -> Vec<(String, Vec<usize>)> {
    let single = |(at, name): (usize, &String)| (name.clone(), vec![at]);
    if names.len() <= MOST {
        return names.iter().enumerate().map(single).collect();
    }
    let kept = names.iter().enumerate().take(MOST - 1).map(single);
    kept.chain([("other".to_owned(), (MOST - 1..names.len()).collect())]).collect()
}

fn sum(matrix: &Matrix, rows: &[usize], columns: &[usize]) -> Option<f64> {
    let cells = rows.iter().flat_map(|row| columns.iter().filter_map(|column| cell(matrix, *row, *column)));
    cells.fold(None, |sum: Option<f64>, value| Some(sum.unwrap_or(0.0) + value))
}
