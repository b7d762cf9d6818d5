//! Parts that add up, over dates; what a cap took away is hatched on top.

use maud::{Markup, html};

use crate::block::{Cell, Column, Row, Rows, Stack};
use crate::chart::curve::dates;
use crate::chart::figure::{Figure, Plane, legend, missing_note};
use crate::draw::axis::Axis;
use crate::draw::mark::{SERIES, coordinate, percent, series_class};
use crate::number::{Estimate, Scale};
use crate::text::visible::{line, short_name};

const HEIGHT: f64 = 200.0;

/// Dates from which on only the last ones are drawn: a column needs about two pixels.
const MOST_DATES: usize = 400;

/// A drawn part: its name and its values.
struct Part {
    name: String,
    values: Vec<Option<f64>>,
}

pub(crate) fn render(stack: &Stack) -> Markup {
    let scale = &stack.scale;
    let parts = parts(stack);
    let n = stack.dates.len();
    let from = n.saturating_sub(MOST_DATES);
    let sum = |at: usize| {
        let taken = value(&stack.capped, at).unwrap_or(0.0) - value(&stack.capped_sum, at).unwrap_or(0.0);
        parts.iter().filter_map(|part| value(&part.values, at)).sum::<f64>() + taken.max(0.0)
    };
    let axis = match scale.range {
        Some((_, hi)) if (0..n).all(|at| sum(at) <= hi) && hi > 0.0 => Axis::linear(0.0, hi),
        _ => Axis::from_zero((0..n).map(sum)),
    };
    let plane = Plane { vertical: &axis, scale, height: HEIGHT, below: 22.0 };
    let width = 1.0 / (n - from).max(1) as f64;
    let content = html! {
        @for at in from..n {
            g data-key=[stack.dates.get(at).map(|date| line(date))] { (column(&parts, stack, at, width * (at - from) as f64, width, &plane)) }
        }
        (dates::labels(stack.dates.get(from..).unwrap_or_default(), |at| width * (at as f64 + 0.5), HEIGHT + 16.0))
    };
    let missing = (0..n).filter(|at| parts.iter().all(|part| value(&part.values, *at).is_none())).count();
    let has_caps = stack.capped.iter().flatten().any(|cap| *cap > 0.0);
    let notes = [
        missing_note(missing, n, "date"),
        has_caps.then(|| "Hatched: taken away by a cap.".to_owned()),
        (from > 0).then(|| format!("The last {MOST_DATES} of {n} dates are drawn; the table has all.")),
    ];
    let items: Vec<(Markup, &str)> =
        parts.iter().enumerate().map(|(at, part)| (square(at), part.name.as_str())).collect();
    Figure {
        is_beside: false,
        kind: "stack",
        sentence: sentence(stack, &parts),
        points: n - missing,
        drawing: plane.render(&content, None),
        legend: Some(legend(items.into_iter())),
        notes: notes.into_iter().flatten().collect(),
    }
    .render(&rows(stack))
}

fn column(parts: &[Part], stack: &Stack, at: usize, x: f64, width: f64, plane: &Plane<'_>) -> Markup {
    let (left, wide) = (percent(x + width * 0.1), percent(width * 0.8));
    let mut below = 0.0;
    html! {
        @for (series, part) in parts.iter().enumerate() {
            @if let Some(value) = value(&part.values, at) {
                @let (top, bottom) = (plane.y(below + value), plane.y(below));
                rect class={"bar-mark " (series_class(series))} x=(left) width=(wide) y=(coordinate(top)) height=(coordinate((bottom - top - 1.0).max(0.0))) {}
                @let () = below += value;
            }
        }
        @if let Some(cap) = value(&stack.capped, at).filter(|cap| *cap > 0.0) {
            // A cap on the sum took away what the parts have; one on a part is on top of them.
            @let of_sum = value(&stack.capped_sum, at).unwrap_or(0.0).min(below);
            @let (top, bottom) = (plane.y(below + (cap - of_sum).max(0.0)), plane.y(below - of_sum));
            rect.swatch fill="url(#hatch)" x=(left) width=(wide) y=(coordinate(top)) height=(coordinate((bottom - top - 1.0).max(0.0))) {}
        }
    }
}

fn square(series: usize) -> Markup {
    html! { svg width="12" height="12" aria-hidden="true" { rect class={"bar-mark " (series_class(series))} width="12" height="12" {} } }
}

/// Returns a part of a sum; negative and missing ones take no space.
fn value(values: &[Option<f64>], at: usize) -> Option<f64> {
    values.get(at).copied().flatten().filter(|value| value.is_finite() && *value >= 0.0)
}

/// Returns the parts to draw; those beyond the colours are added up.
fn parts(stack: &Stack) -> Vec<Part> {
    let part = |it: &crate::block::StackPart| Part { name: it.name.clone(), values: it.values.clone() };
    if stack.parts.len() <= SERIES {
        return stack.parts.iter().map(part).collect();
    }
    let (kept, rest) = stack.parts.split_at(SERIES - 1);
    let sum = |at: usize| {
        let known = rest.iter().filter_map(|part| value(&part.values, at));
        known.fold(None, |sum: Option<f64>, value| Some(sum.unwrap_or(0.0) + value))
    };
    let other = Part { name: format!("{} others", rest.len()), values: (0..stack.dates.len()).map(sum).collect() };
    kept.iter().map(part).chain([other]).collect()
}

/// Returns the numbers.
pub(crate) fn rows(stack: &Stack) -> Rows {
    let cell = |values: &[Option<f64>], at: usize| match value(values, at) {
        Some(value) => {
            Cell::Value(Estimate::point(value, 1), Scale { range: stack.scale.range, ..stack.scale.clone() })
        }
        None => Cell::Missing("no value".to_owned()),
    };
    let has_caps = stack.capped.iter().flatten().any(|cap| *cap > 0.0);
    let row = |(at, date): (usize, &String)| {
        let parts = stack.parts.iter().map(|part| cell(&part.values, at));
        let capped = has_caps.then(|| cell(&stack.capped, at));
        Row::of([Cell::Text(date.clone())].into_iter().chain(parts).chain(capped).collect())
    };
    Rows {
        columns: [Column::text("Date")]
            .into_iter()
            .chain(stack.parts.iter().map(|part| Column::number(&part.name)))
            .chain(has_caps.then(|| Column::number("Taken by caps")))
            .collect(),
        rows: stack.dates.iter().enumerate().map(row).collect(),
        ..Rows::default()
    }
}

fn sentence(stack: &Stack, parts: &[Part]) -> String {
    let last = (0..stack.dates.len()).rev().find(|at| parts.iter().any(|part| value(&part.values, *at).is_some()));
    let Some(at) = last else { return "no values".to_owned() };
    let told: Vec<String> = parts
        .iter()
        .filter_map(|part| Some(format!("{} {}", short_name(&part.name), stack.scale.text(value(&part.values, at)?))))
        .collect();
    let date = stack.dates.get(at).map_or_else(String::new, |date| short_name(date));
    format!("{} dates; on {date}: {}", stack.dates.len(), told.join(", "))
}
