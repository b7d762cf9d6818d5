//! The share of values up to each value, with p50, p95 and p99 marked; logarithmic where ends lie far apart.

use maud::{Markup, html};

use crate::block::{Cell, Column, Curve, CurveLine, Row, Rows};
use crate::chart::figure::{Figure, Plane, legend};
use crate::draw::axis::Axis;
use crate::draw::mark::{self, Marker, SERIES, coordinate, curve_class, path, percent, series_class, stretch};
use crate::number::{Estimate, Scale, Unit};
use crate::text::visible::short_name;

const HEIGHT: f64 = 200.0;

/// Marked shares.
const MARKED: [(f64, &str); 3] = [(0.50, "p50"), (0.95, "p95"), (0.99, "p99")];

/// Most steps of one line.
const MOST_STEPS: usize = 500;

/// Values below which each is a dot.
const FEW: usize = 5;

/// A line with its values in order.
struct Sorted<'a> {
    name: &'a str,
    values: Vec<f64>,
}

impl Sorted<'_> {
    /// Returns the smallest value that at least this share does not exceed.
    fn quantile(&self, share: f64) -> Option<f64> {
        let rank = (share * self.values.len() as f64).ceil().max(1.0) as usize;
        self.values.get(rank - 1).copied()
    }
}

fn sorted(curve: &Curve) -> Vec<Sorted<'_>> {
    let sorted = |line: &'_ CurveLine| {
        let mut values: Vec<f64> = line.points.iter().map(|point| point.x).filter(|x| x.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    curve.lines.iter().map(|line| Sorted { name: &line.name, values: sorted(line) }).collect()
}

/// Returns the numbers.
pub(crate) fn rows(curve: &Curve) -> Rows {
    table(&sorted(curve), curve)
}

pub(crate) fn render(curve: &Curve) -> Markup {
    let lines = sorted(curve);
    let axis = Axis::log_or_zero(lines.iter().flat_map(|line| line.values.iter().copied()));
    let vertical = Axis::linear(0.0, 1.0);
    let shares = Scale::of(Unit::Share);
    let plane = Plane { vertical: &vertical, scale: &shares, height: HEIGHT, below: 22.0 };
    let drawn = || lines.iter().take(SERIES).enumerate();
    let content = html! {
        @for tick in axis.ticks() { @let x = percent(axis.position(*tick)); line.grid-line x1=(x) x2=(x) y1="0" y2=(HEIGHT) {} }
        (stretch(HEIGHT, &html! { @for (at, line) in drawn().filter(|(_, line)| line.values.len() >= FEW) { (mark::curve(&curve_class(at), &steps(line, &axis, &plane))) } }))
        @for (at, line) in drawn() {
            @if line.values.len() < FEW {
                @for value in &line.values {
                    circle class={"value-dot " (series_class(at))} cx=(percent(axis.position(*value))) cy=(HEIGHT / 2.0) r="4.5" {}
                }
            } @else {
                @for (share, name) in MARKED {
                    @if let Some(value) = line.quantile(share) {
                        (Marker { title: Some(format!("{name} {}", curve.x.text(value))), ..Marker::of(at) }.draw(axis.position(value), plane.y(share)))
                        @if lines.len() == 1 { (name_of(name, value, share, &axis, &plane, curve)) }
                    }
                }
            }
        }
        (axis.labels(&curve.x, false, HEIGHT + 16.0))
    };
    let notes = [
        axis.is_log().then(|| "The axis is logarithmic.".to_owned()),
        lines
            .iter()
            .any(|line| line.values.len() < FEW)
            .then(|| "Fewer than five values are dots without shares.".to_owned()),
        (lines.len() > SERIES).then(|| format!("The first {SERIES} of {} are drawn; the table has all.", lines.len())),
    ];
    Figure {
        is_beside: false,
        kind: "distribution",
        sentence: sentence(&lines, curve),
        points: lines.iter().map(|line| line.values.len()).sum(),
        drawing: plane.render(&content, None),
        legend: (lines.len() > 1).then(|| legend(drawn().map(|(at, line)| (mark::swatch(at, true), line.name)))),
        notes: notes.into_iter().flatten().collect(),
    }
    .render(&table(&lines, curve))
}

fn name_of(name: &str, value: f64, share: f64, axis: &Axis, plane: &Plane<'_>, curve: &Curve) -> Markup {
    let position = axis.position(value);
    let is_right = position > 0.85;
    // p95 and p99 stand close above each other.
    let y = plane.y(share) + if share > 0.97 { -4.0 } else { 14.0 };
    html! {
        text x=(percent(position)) y=(coordinate(y)) dx=(if is_right { "-8" } else { "8" }) text-anchor=(if is_right { "end" } else { "start" }) {
            (name) " " (curve.x.text(value))
        }
    }
}

fn steps(line: &Sorted<'_>, axis: &Axis, plane: &Plane<'_>) -> String {
    let n = line.values.len();
    let drawn = n.min(MOST_STEPS);
    let mut points = Vec::with_capacity(2 * drawn + 2);
    let mut share = 0.0;
    for step in 0..drawn {
        let at = if drawn > 1 { step * (n - 1) / (drawn - 1) } else { 0 };
        let Some(value) = line.values.get(at) else { continue };
        let x = axis.position(*value);
        points.push(Some((x, plane.y(share))));
        share = (at + 1) as f64 / n as f64;
        points.push(Some((x, plane.y(share))));
    }
    path(points.into_iter())
}

fn table(lines: &[Sorted<'_>], curve: &Curve) -> Rows {
    let row = |line: &Sorted<'_>| {
        let n = line.values.len() as u64;
        let value = |value: Option<f64>| {
            let estimate = value.map_or_else(|| Estimate::missing("no value"), |value| Estimate::point(value, n));
            Cell::Value(estimate, curve.x.clone())
        };
        let marked = MARKED.iter().map(|(share, _)| value(line.quantile(*share)));
        let ends = [value(line.values.first().copied()), value(line.values.last().copied())];
        Row::of([Cell::text(line.name), Cell::Count(n)].into_iter().chain(marked).chain(ends).collect())
    };
    let names = ["n", "p50", "p95", "p99", "Lowest", "Highest"];
    Rows {
        columns: [Column::text("Name")].into_iter().chain(names.map(Column::number)).collect(),
        rows: lines.iter().map(row).collect(),
        ..Rows::default()
    }
}

fn sentence(lines: &[Sorted<'_>], curve: &Curve) -> String {
    let told = lines.iter().take(SERIES).map(|line| {
        let marked: Vec<String> = MARKED
            .iter()
            .filter_map(|(share, name)| Some(format!("{name} {}", curve.x.text(line.quantile(*share)?))))
            .collect();
        format!(
            "{}: {}",
            short_name(line.name),
            if marked.is_empty() { "no values".to_owned() } else { marked.join(", ") }
        )
    });
    told.collect::<Vec<_>>().join("; ")
}
