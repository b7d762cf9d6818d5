//! Systems against samples: a cell for each score, or, for many samples, each system's scores sorted and the samples on
//! which systems differ most.

use karat_types::Better;
use maud::{Markup, html};

use crate::block::{Cell, Column, Matrix, Row, Rows};
use crate::chart::figure::{Figure, missing_note};
use crate::chart::grid::{cell, step};
use crate::draw::axis::Axis;
use crate::draw::mark::percent;
use crate::number::{Estimate, Scale, count_noun};
use crate::text::visible::{Name, line, short_name};

/// Most samples with a cell each.
const MOST_CELLS: usize = 60;

/// Samples shown of many: those on which systems differ most.
const MOST_DIFFERENT: usize = 50;

/// Cells of a sorted strip.
const STRIP: usize = 120;

/// Height of a line, in pixels.
const HEIGHT: f64 = 26.0;

/// A missing, or a known score with the name of what it belongs to.
type Shown = (Option<f64>, String);

pub(crate) fn render(matrix: &Matrix, scale: &Scale) -> Markup {
    let samples = matrix.columns.len();
    let value = |row, column| cell(matrix, row, column);
    let known = || (0..matrix.rows.len()).flat_map(|row| (0..samples).filter_map(move |column| value(row, column)));
    let axis = Axis::of(scale, known());
    let of_columns = |columns: &[usize]| -> Vec<Vec<Shown>> {
        let name = |column: usize| matrix.columns.get(column).cloned().unwrap_or_default();
        (0..matrix.rows.len()).map(|row| columns.iter().map(|it| (value(row, *it), name(*it))).collect()).collect()
    };
    let is_long = samples > MOST_CELLS;
    let different = most_different(matrix);
    let drawing = if is_long {
        let strips: Vec<Vec<Shown>> = (0..matrix.rows.len()).map(|row| sorted_strip(matrix, row)).collect();
        html! {
            p.label { "All " (samples) " samples, each system's scores from low to high" }
            (lines(matrix, scale, &axis, &strips))
            p.label { "The " (different.len()) " samples on which systems differ most" }
            (lines(matrix, scale, &axis, &of_columns(&different)))
        }
    } else {
        lines(matrix, scale, &axis, &of_columns(&(0..samples).collect::<Vec<_>>()))
    };
    let points = known().count();
    let missing = matrix.rows.len() * samples - points;
    Figure {
        is_beside: false,
        kind: "heatmap",
        sentence: sentence(matrix, scale),
        points,
        drawing,
        legend: Some(key(scale, &axis)),
        notes: missing_note(missing, matrix.rows.len() * samples, "cell").into_iter().collect(),
    }
    .render(&table(matrix, scale, if is_long { &different } else { &[] }))
}

fn lines(matrix: &Matrix, scale: &Scale, axis: &Axis, cells: &[Vec<Shown>]) -> Markup {
    html! {
        div.rows {
            @for (row, name) in matrix.rows.iter().enumerate() {
                div.row {
                    div.name { (Name(name)) }
                    div.plot { @if let Some(cells) = cells.get(row) { (strip(cells, scale, axis)) } }
                    div.value { @match mean(matrix, row) {
                        Some(mean) => { span.soft { "mean " } (scale.text(mean)) },
                        None => span.reason { "n/a" },
                    } }
                }
            }
        }
    }
}

fn strip(cells: &[Shown], scale: &Scale, axis: &Axis) -> Markup {
    let width = 1.0 / cells.len().max(1) as f64;
    html! {
        svg.dense[cells.len() > MOST_CELLS] width="100%" height=(HEIGHT) aria-hidden="true" {
            @for (at, (value, name)) in cells.iter().enumerate() {
                @let x = percent(width * at as f64);
                @match value {
                    Some(value) => rect class={"h" (shade(scale, axis, *value))} x=(x) width=(percent(width)) y="1" height=(HEIGHT - 2.0) {
                        title { (short_name(name)) " " (scale.text(*value)) }
                    },
                    None => rect fill="url(#hatch)" x=(x) width=(percent(width)) y="1" height=(HEIGHT - 2.0) {
                        title { (short_name(name)) " no value" }
                    },
                }
            }
        }
    }
}

/// Returns the step of a score; darker is better.
fn shade(scale: &Scale, axis: &Axis, value: f64) -> usize {
    let position = axis.position(value);
    step(if scale.better == Better::Lower { 1.0 - position } else { position })
}

fn key(scale: &Scale, axis: &Axis) -> Markup {
    let (lo, hi) = axis.ends();
    let (worst, best) = if scale.better == Better::Lower { (hi, lo) } else { (lo, hi) };
    html! {
        ul.legend {
            li {
                (scale.text(worst))
                span.heat-key { @for shade in 1..=5 {
                    svg width="14" height="14" aria-hidden="true" { rect class={"swatch h" (shade)} width="14" height="14" {} }
                } }
                (scale.text(best))
            }
            li { svg width="14" height="14" aria-hidden="true" { rect.swatch fill="url(#hatch)" width="14" height="14" {} } "no value" }
        }
    }
}

/// Returns the scores of a system from low to high, as many as fit; missing ones stand at the end.
fn sorted_strip(matrix: &Matrix, row: usize) -> Vec<Shown> {
    let samples = matrix.columns.len();
    let mut values: Vec<(Option<f64>, usize)> =
        (0..samples).map(|column| (cell(matrix, row, column), column)).collect();
    values.sort_by(|a, b| match (a.0, b.0) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (a, b) => b.is_some().cmp(&a.is_some()),
    });
    let cells = samples.min(STRIP);
    let last = samples.saturating_sub(1);
    let at = |cell: usize| if cells > 1 { cell * last / (cells - 1) } else { 0 };
    let pick = |cell: usize| {
        values.get(at(cell)).map(|(value, column)| (*value, matrix.columns.get(*column).cloned().unwrap_or_default()))
    };
    (0..cells).filter_map(pick).collect()
}

/// Returns the samples on which systems differ most, the most different first.
fn most_different(matrix: &Matrix) -> Vec<usize> {
    let spread = |column: usize| {
        let values = (0..matrix.rows.len()).filter_map(|row| cell(matrix, row, column));
        let (lo, hi) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), value| (value.min(lo), value.max(hi)));
        if hi > lo { hi - lo } else { 0.0 }
    };
    let mut columns: Vec<(f64, usize)> = (0..matrix.columns.len()).map(|column| (spread(column), column)).collect();
    columns.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    columns.into_iter().take(MOST_DIFFERENT).map(|(_, column)| column).collect()
}

fn mean(matrix: &Matrix, row: usize) -> Option<f64> {
    let values: Vec<f64> = (0..matrix.columns.len()).filter_map(|column| cell(matrix, row, column)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64).filter(|mean| mean.is_finite())
}

fn sentence(matrix: &Matrix, scale: &Scale) -> String {
    let told =
        |(row, name): (usize, &String)| Some(format!("{} mean {}", short_name(name), scale.text(mean(matrix, row)?)));
    let systems: Vec<String> = matrix.rows.iter().enumerate().filter_map(told).take(5).collect();
    let of = |names: &[String], noun| count_noun(names.len() as u64, noun);
    format!("{} on {}: {}", of(&matrix.rows, "system"), of(&matrix.columns, "sample"), systems.join(", "))
}

/// Samples as rows and systems as columns; of many samples those that are drawn.
pub(super) fn table(matrix: &Matrix, scale: &Scale, only: &[usize]) -> Rows {
    let all: Vec<usize> = if only.is_empty() { (0..matrix.columns.len()).collect() } else { only.to_vec() };
    let cell = |row: usize, column: usize| match cell(matrix, row, column) {
        Some(value) => Cell::Value(Estimate::point(value, 1), scale.clone()),
        None => Cell::Missing("no value".to_owned()),
    };
    let row = |column: &usize| {
        let name = matrix.columns.get(*column).cloned().unwrap_or_default();
        Row::of([Cell::Text(name)].into_iter().chain((0..matrix.rows.len()).map(|row| cell(row, *column))).collect())
    };
    Rows {
        caption: line(&matrix.axes.1).into_owned(),
        columns: [Column::text("Sample")].into_iter().chain(matrix.rows.iter().map(Column::number)).collect(),
        rows: all.iter().map(row).collect(),
        left_out: (matrix.columns.len() - all.len()) as u64,
        all_by: None,
    }
}
