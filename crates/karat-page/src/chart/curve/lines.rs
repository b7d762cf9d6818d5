//! Curves of one quantity over another, and reliability diagrams: the diagonal is where stated and observed agree.

use maud::{Markup, html};

use crate::block::{Cell, Column, Curve, CurveLine, CurvePoint, CurveShape, Row, Rows};
use crate::chart::curve::distribution;
use crate::chart::figure::{Figure, Plane, legend};
use crate::draw::axis::Axis;
use crate::draw::mark::{self, Marker, SERIES, coordinate, curve_class, path, percent, series_class, stretch};
use crate::number::{Estimate, Scale, Unit};
use crate::text::visible::{line, short_name};

const HEIGHT: f64 = 240.0;
const BELOW: f64 = 40.0;

/// Height of the histogram of stated values.
const COUNTS: f64 = 44.0;

/// Most points of one line that are drawn as dots.
const MOST_DOTS: usize = 40;

pub(crate) fn render(curve: &Curve) -> Markup {
    if curve.shape == CurveShape::Distribution {
        return distribution::render(curve);
    }
    let lines: Vec<(&CurveLine, Vec<CurvePoint>)> = curve.lines.iter().map(|line| (line, known_points(line))).collect();
    let mark = curve.mark.as_ref().map(|(x, _)| *x);
    let points = || lines.iter().flat_map(|(_, points)| points);
    let horizontal = Axis::of(&curve.x, points().map(|point| point.x).chain(mark));
    let heights = points()
        .flat_map(|point| [point.y].into_iter().chain(point.interval.into_iter().flat_map(|(lo, hi)| [lo, hi])));
    let vertical = Axis::of(&curve.y, heights);
    let plane = Plane { vertical: &vertical, scale: &curve.y, height: HEIGHT, below: BELOW };
    let is_reliability = curve.shape == CurveShape::Reliability;
    let content = html! {
        @for tick in horizontal.ticks() {
            @let x = percent(horizontal.position(*tick));
            line.grid-line x1=(x) x2=(x) y1="0" y2=(HEIGHT) {}
        }
        @if is_reliability { (diagonal(&horizontal, &plane)) }
        (mark_line(curve, &horizontal))
        (stretch(HEIGHT, &html! {
            @for (at, (_, points)) in lines.iter().enumerate().take(SERIES) {
                @if points.len() > 1 {
                    (mark::curve(&curve_class(at), &path(points.iter().map(|point| Some((horizontal.position(point.x), plane.y(point.y)))))))
                }
            }
        }))
        @for (at, (_, points)) in lines.iter().enumerate().take(SERIES) {
            @if points.len() <= MOST_DOTS { @for point in points { (dot(at, point, &horizontal, &plane, curve)) } }
        }
        (horizontal.labels(&curve.x, false, HEIGHT + 16.0))
        text.soft x="100%" y=(HEIGHT + 34.0) text-anchor="end" { (short_name(&curve.axes.0)) " →" }
    };
    let notes = [
        Some(format!("Vertical: {}. Horizontal: {}.", line(&curve.axes.1), line(&curve.axes.0))),
        curve.mark.as_ref().map(|(x, name)| format!("Dashed line: {} at {}.", line(name), curve.x.text(*x))),
        is_reliability.then(|| "On the dotted diagonal, stated and observed agree.".to_owned()),
        (lines.len() > SERIES).then(|| format!("The first {SERIES} of {} are drawn; the table has all.", lines.len())),
    ];
    Figure {
        is_beside: false,
        kind: if is_reliability { "reliability" } else { "curve" },
        sentence: sentence(curve, &lines),
        points: points().count(),
        drawing: html! {
            (plane.render(&content, None))
            @if is_reliability { @if let Some((_, points)) = lines.first() { (counts(points, &horizontal, &plane)) } }
        },
        legend: (lines.len() > 1).then(|| {
            legend(
                lines
                    .iter()
                    .enumerate()
                    .take(SERIES)
                    .map(|(at, (line, _))| (mark::swatch(at, true), line.name.as_str())),
            )
        }),
        notes: notes.into_iter().flatten().collect(),
    }
    .render(&rows(curve))
}

fn known_points(line: &CurveLine) -> Vec<CurvePoint> {
    line.points.iter().copied().filter(|point| point.x.is_finite() && point.y.is_finite()).collect()
}

fn diagonal(horizontal: &Axis, plane: &Plane<'_>) -> Markup {
    let (lo, hi) = horizontal.ends();
    html! {
        line.diagonal x1=(percent(horizontal.position(lo))) x2=(percent(horizontal.position(hi)))
            y1=(coordinate(plane.y(lo))) y2=(coordinate(plane.y(hi))) {}
    }
}

fn mark_line(curve: &Curve, horizontal: &Axis) -> Markup {
    html! {
        @if let Some((value, name)) = &curve.mark {
            @let position = horizontal.position(*value);
            @let x = percent(position);
            line.threshold x1=(x) x2=(x) y1="0" y2=(HEIGHT) {}
            text x=(x) y="12" dx=(if position > 0.5 { "-6" } else { "6" }) text-anchor=(if position > 0.5 { "end" } else { "start" }) {
                (short_name(name))
            }
        }
    }
}

fn dot(series: usize, point: &CurvePoint, horizontal: &Axis, plane: &Plane<'_>, curve: &Curve) -> Markup {
    let x = percent(horizontal.position(point.x));
    html! {
        @if let Some((lo, hi)) = point.interval {
            line class={"whisker " (series_class(series))} x1=(x) x2=(x) y1=(coordinate(plane.y(lo))) y2=(coordinate(plane.y(hi))) {}
        }
        (Marker { title: Some(format!("{}, {}", curve.x.text(point.x), curve.y.text(point.y))), ..Marker::of(series) }
            .draw(horizontal.position(point.x), plane.y(point.y)))
    }
}

/// The number of observations of each point, below the diagram.
fn counts(points: &[CurvePoint], horizontal: &Axis, plane: &Plane<'_>) -> Markup {
    let most = points.iter().map(|point| point.n).max().unwrap_or(0).max(1) as f64;
    let vertical = Axis::linear(0.0, most);
    let counts = Scale::of(Unit::Count);
    let width = 0.6 / points.len().max(5) as f64;
    let content = html! {
        @for point in points {
            @let height = COUNTS * point.n as f64 / most;
            @let x = (horizontal.position(point.x) - width / 2.0).clamp(0.0, 1.0 - width);
            rect class="bar-mark s5" x=(percent(x)) width=(percent(width)) y=(coordinate(COUNTS - height)) height=(coordinate(height)) {
                title { "n = " (point.n) }
            }
        }
    };
    // The same gutter as above, so that bars stand below their points.
    let ticks: Vec<String> =
        plane.vertical.ticks().iter().map(|tick| crate::draw::axis::tick_text(plane.scale, *tick, false)).collect();
    let gutter = crate::chart::figure::gutter(ticks.iter().map(String::as_str));
    html! {
        div.plane {
            svg width=(gutter) height=(COUNTS + 4.0) aria-hidden="true" {
                text.soft x=(gutter - 8.0) y="10" text-anchor="end" { (counts.text(most)) }
                text.soft x=(gutter - 8.0) y=(COUNTS) text-anchor="end" { (counts.text(vertical.ends().0)) }
            }
            svg width="100%" height=(COUNTS + 4.0) aria-hidden="true" {
                (content)
                line.axis-line x1="0" x2="100%" y1=(COUNTS) y2=(COUNTS) {}
            }
        }
    }
}

/// Returns the numbers.
pub(crate) fn rows(curve: &Curve) -> Rows {
    if curve.shape == CurveShape::Distribution {
        return distribution::rows(curve);
    }
    let row = |of: &CurveLine, point: &CurvePoint| {
        let x = Estimate { value: Some(point.x).filter(|x| x.is_finite()), ..Estimate::default() };
        let y = Estimate {
            value: Some(point.y).filter(|y| y.is_finite()),
            interval: point.interval,
            n: point.n,
            ..Estimate::default()
        };
        Row::of(vec![
            Cell::Text(of.name.clone()),
            Cell::Value(x, curve.x.clone()),
            Cell::Value(y, curve.y.clone()),
            Cell::Count(point.n),
        ])
    };
    let columns =
        vec![Column::text("Name"), Column::number(&curve.axes.0), Column::number(&curve.axes.1), Column::number("n")];
    Rows {
        columns,
        rows: curve.lines.iter().flat_map(|line| line.points.iter().map(move |point| row(line, point))).collect(),
        ..Rows::default()
    }
}

fn sentence(curve: &Curve, lines: &[(&CurveLine, Vec<CurvePoint>)]) -> String {
    let told = lines.iter().take(SERIES).map(|(line, points)| match points.as_slice() {
        [] => format!("{}: no values", short_name(&line.name)),
        [only] => format!("{}: {} at {}", short_name(&line.name), curve.y.text(only.y), curve.x.text(only.x)),
        [first, .., last] => format!(
            "{}: {} at {} to {} at {}",
            short_name(&line.name),
            curve.y.text(first.y),
            curve.x.text(first.x),
            curve.y.text(last.y),
            curve.x.text(last.x)
        ),
    });
    told.collect::<Vec<_>>().join("; ")
}
