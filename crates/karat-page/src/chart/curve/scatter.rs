//! Things by two values, each group with a marker of its own.

use maud::{Markup, html};

use crate::block::{Cell, Column, Row, Rows, Scatter, ScatterPoint};
use crate::chart::figure::{Figure, Plane, legend};
use crate::draw::axis::Axis;
use crate::draw::mark::{self, Marker, SERIES, coordinate, percent};
use crate::number::Estimate;
use crate::text::visible::{line, short_name};

const HEIGHT: f64 = 260.0;
const BELOW: f64 = 40.0;

/// Most things that are drawn: more are a cloud. The rest is in the table.
const MOST_POINTS: usize = 500;

/// Most rows of the table below.
const MOST_ROWS: usize = 500;

pub(crate) fn render(scatter: &Scatter) -> Markup {
    let known: Vec<&ScatterPoint> =
        scatter.points.iter().filter(|point| point.x.is_finite() && point.y.is_finite()).collect();
    let shown = known.get(..known.len().min(MOST_POINTS)).unwrap_or_default();
    let horizontal = Axis::of(&scatter.x, known.iter().map(|point| point.x));
    let mark = scatter.mark.as_ref().map(|(height, _)| *height);
    let vertical = Axis::of(&scatter.y, known.iter().map(|point| point.y).chain(mark));
    let plane = Plane { vertical: &vertical, scale: &scatter.y, height: HEIGHT, below: BELOW };
    let content = html! {
        @for tick in horizontal.ticks() {
            @let x = percent(horizontal.position(*tick));
            line.grid-line x1=(x) x2=(x) y1="0" y2=(HEIGHT) {}
        }
        @if let Some((height, _)) = &scatter.mark {
            @let y = coordinate(plane.y(*height));
            line.threshold x1="0" x2="100%" y1=(y) y2=(y) {}
        }
        @for point in shown {
            (Marker { title: Some(title(scatter, point)), ..Marker::of(point.group) }
                .with_key(point.key.as_deref())
                .hollow(point.group == 0)
                .draw(horizontal.position(point.x), plane.y(point.y)))
        }
        (horizontal.labels(&scatter.x, false, HEIGHT + 16.0))
        text.soft x="100%" y=(HEIGHT + 34.0) text-anchor="end" { (short_name(&scatter.axes.0)) " →" }
    };
    let notes = [
        Some(format!("Vertical: {}. Horizontal: {}.", line(&scatter.axes.1), line(&scatter.axes.0))),
        scatter
            .mark
            .as_ref()
            .map(|(height, name)| format!("Dashed line: {} at {}.", line(name), scatter.y.text(*height))),
        (known.len() > shown.len()).then(|| format!("The first {} of {} are drawn.", shown.len(), known.len())),
    ];
    Figure {
        is_beside: false,
        kind: "scatter",
        sentence: sentence(scatter, known.len()),
        points: shown.len(),
        drawing: plane.render(&content, None),
        legend: (scatter.groups.len() > 1).then(|| {
            legend(
                scatter
                    .groups
                    .iter()
                    .enumerate()
                    .take(SERIES)
                    .map(|(at, name)| (mark::swatch(at, false), name.as_str())),
            )
        }),
        notes: notes.into_iter().flatten().collect(),
    }
    .render(&rows(scatter))
}

fn title(scatter: &Scatter, point: &ScatterPoint) -> String {
    format!("{}: {}, {}", line(&point.name), scatter.x.text(point.x), scatter.y.text(point.y))
}

fn sentence(scatter: &Scatter, n: usize) -> String {
    let of_group = |(at, name): (usize, &String)| {
        let n = scatter.points.iter().filter(|point| point.group == at).count();
        format!("{n} {name}")
    };
    let groups: Vec<String> = scatter.groups.iter().enumerate().map(of_group).collect();
    format!("{n} by {} and {}: {}.", scatter.axes.0, scatter.axes.1, groups.join(", "))
}

/// Returns the numbers.
pub(crate) fn rows(scatter: &Scatter) -> Rows {
    let value = |value: f64| Estimate { value: Some(value).filter(|value| value.is_finite()), ..Estimate::default() };
    let row = |point: &ScatterPoint| Row {
        key: point.key.clone(),
        ..Row::of(vec![
            Cell::text(point.name.clone()),
            Cell::text(scatter.groups.get(point.group).cloned().unwrap_or_default()),
            Cell::Value(value(point.x), scatter.x.clone()),
            Cell::Value(value(point.y), scatter.y.clone()),
        ])
    };
    Rows {
        caption: scatter.head.title.clone(),
        columns: vec![
            Column::text("name"),
            Column::text("group"),
            Column::number(scatter.axes.0.clone()),
            Column::number(scatter.axes.1.clone()),
        ],
        rows: scatter.points.iter().take(MOST_ROWS).map(row).collect(),
        left_out: scatter.points.len().saturating_sub(MOST_ROWS) as u64,
        all_by: None,
    }
}
