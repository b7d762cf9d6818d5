//! Values over dates: gaps stay gaps, pinned values are hollow, the threshold is a dashed line, the band is shaded.

use maud::{Markup, html};

use crate::block::{Cell, Column, Row, Rows, Series, SeriesLine};
use crate::chart::curve::{dates, multiples};
use crate::chart::figure::{Figure, Plane, cut_note, end_labels, legend, missing_note};
use crate::draw::axis::Axis;
use crate::draw::mark::{self, Marker, SERIES, coordinate, curve_class, path, percent, stretch};
use crate::number::Estimate;
use crate::text::visible::{line, short_name};

const HEIGHT: f64 = 220.0;
const BELOW: f64 = 22.0;

/// Most points drawn as dots; a longer line speaks for itself.
const MOST_DOTS: usize = 90;

/// Most marked dates that a note names.
const MOST_NAMED: usize = 5;

/// Most dates of a linked line that are drawn as small dots; of more, the dots are as wide as the line.
const MOST_SMALL_DOTS: usize = 400;

pub(crate) fn render(series: &Series) -> Markup {
    let scale = &series.scale;
    let axis = Axis::of(scale, extent(series)).cut_from(scale);
    let drawing = if series.lines.len() > SERIES { multiples::draw(series, &axis) } else { draw(series, &axis) };
    let points = series
        .lines
        .iter()
        .flat_map(|line| &line.points)
        .filter(|point| point.value.is_some_and(f64::is_finite))
        .count();
    let first = series.lines.first();
    let missing =
        first.map_or(0, |line| line.points.iter().filter(|point| !point.value.is_some_and(f64::is_finite)).count());
    let notes = [
        missing_note(missing, series.dates.len(), "date"),
        cut_note(&axis, scale),
        (series.dates.len() > dates::MOST_POINTS)
            .then(|| "Thinned: the lowest and the highest value of each part are drawn.".to_owned()),
        series
            .threshold
            .as_ref()
            .map(|(value, name)| format!("Dashed line: {} at {}.", line(name), scale.text(*value))),
        series.band.as_ref().map(|(_, name)| format!("Shaded band: {}.", line(name))),
        incidents(series),
        mark_layer(series),
    ];
    Figure {
        is_beside: false,
        kind: "trend",
        sentence: sentence(series),
        points,
        drawing,
        legend: (series.lines.len() > 1 && series.lines.len() <= SERIES).then(|| {
            let item = |(at, it): (usize, &SeriesLine)| (swatch(at, it), it.name.clone());
            let items: Vec<(Markup, String)> = series.lines.iter().enumerate().map(item).collect();
            legend(items.iter().map(|(swatch, name)| (swatch.clone(), name.as_str())))
        }),
        notes: notes.into_iter().flatten().collect(),
    }
    .render(&rows(series))
}

fn extent(series: &Series) -> impl Iterator<Item = f64> {
    let points = series.lines.iter().flat_map(|line| &line.points);
    let values =
        points.flat_map(|point| point.value.into_iter().chain(point.interval.into_iter().flat_map(|(a, b)| [a, b])));
    let band = series.band.iter().flat_map(|(band, _)| band.iter().flatten().flat_map(|(lo, hi)| [*lo, *hi]));
    let threshold = series.threshold.iter().map(|(value, _)| *value);
    values.chain(band).chain(threshold).filter(|value| value.is_finite()).collect::<Vec<_>>().into_iter()
}

fn swatch(at: usize, line: &SeriesLine) -> Markup {
    if line.is_hollow {
        return html! { svg width="28" height="12" aria-hidden="true" { (Marker::of(at).hollow(true).draw(0.5, 6.0)) } };
    }
    if line.is_smooth {
        return html! { svg width="28" height="12" aria-hidden="true" { line class=(curve_class(at)) x1="0" x2="28" y1="6" y2="6" {} } };
    }
    mark::swatch(at, true)
}

fn draw(series: &Series, axis: &Axis) -> Markup {
    let plane = Plane { vertical: axis, scale: &series.scale, height: HEIGHT, below: BELOW };
    let n = series.dates.len();
    let x = |at: usize| mark::date_position(at, n);
    let content = html! {
        @for incident in &series.incidents {
            @let half = 0.5 / n.max(2) as f64;
            @let (from, to) = ((x(incident.from) - half).max(0.0), (x(incident.to) + half).min(1.0));
            rect.incident x=(percent(from)) width=(percent((to - from).max(0.0))) y="0" height=(HEIGHT) {
                title { (line(&incident.label)) }
            }
        }
        @if series.is_linked { line.focus-line x1="0" x2="0" y1="0" y2=(HEIGHT) visibility="hidden" {} }
        @if let Some((band, _)) = &series.band { (stretch(HEIGHT, &band_shapes(band, &plane))) }
        @if let Some((value, name)) = &series.threshold {
            @let y = plane.y(*value);
            line.threshold x1="0" x2="100%" y1=(coordinate(y)) y2=(coordinate(y)) {}
            text.soft x="100%" y=(coordinate(y - 5.0)) text-anchor="end" { (short_name(name)) }
        }
        (stretch(HEIGHT, &html! {
            @for (at, line) in series.lines.iter().enumerate() {
                @if !line.is_hollow { (mark::curve(&curve_class(at), &dates::line_path(line, n, |value| plane.y(value)))) }
            }
        }))
        @for (at, line) in series.lines.iter().enumerate() { @if !line.is_smooth { (dots(series, at, line, &plane)) } }
        @if let Some((days, label)) = &series.marked {
            @for day in days.iter().filter(|day| **day < n) {
                svg x=(percent(x(*day))) y=(HEIGHT) width="1" height="1" overflow="visible" {
                    path.day-mark d="M0 -1L4 -9H-4Z" { title { (line(series.dates.get(*day).map_or("", String::as_str))) ": " (line(label)) } }
                }
            }
        }
        (dates::labels(&series.dates, x, HEIGHT + 16.0))
    };
    plane.render(&content, names(series, &plane).as_ref())
}

fn dots(series: &Series, at: usize, of: &SeriesLine, plane: &Plane<'_>) -> Markup {
    let n = series.dates.len();
    let values = dates::values(of);
    let is_linked = series.is_linked && at == 0;
    // A point between two gaps has no line, so it needs its dot.
    let is_alone = |at: usize| {
        let known = |at: Option<usize>| at.and_then(|at| values.get(at)).copied().flatten().is_some();
        !known(at.checked_sub(1)) && !known(at.checked_add(1))
    };
    html! {
        @for (day, point) in of.points.iter().enumerate().take(n) {
            @if let Some(value) = point.value.filter(|value| value.is_finite()) {
                @let x = mark::date_position(day, n);
                @if let Some((lo, hi)) = point.interval.filter(|_| n <= MOST_DOTS) {
                    @let x = percent(x);
                    line class={"whisker " (mark::series_class(at))} x1=(x) x2=(x) y1=(coordinate(plane.y(lo))) y2=(coordinate(plane.y(hi))) {}
                }
                @let date = series.dates.get(day).map(String::as_str);
                @if is_linked && n > MOST_DOTS && !of.is_hollow {
                    circle.dot.small.(mark::series_class(at)) cx=(percent(x)) cy=(coordinate(plane.y(value)))
                        r=(if n > MOST_SMALL_DOTS { "1.25" } else { "2.5" }) data-key=[date.map(line)] {}
                } @else if n <= MOST_DOTS || of.is_hollow || is_alone(day) {
                    (Marker { title: date.map(|date| format!("{} {}", line(date), series.scale.text(value))), ..Marker::of(at).hollow(of.is_hollow).with_key(date) }
                        .draw(x, plane.y(value)))
                }
            }
        }
    }
}

fn band_shapes(band: &[Option<(f64, f64)>], plane: &Plane<'_>) -> Markup {
    let place = |at: usize| {
        let (lo, hi) = band.get(at).copied().flatten().filter(|(lo, hi)| lo.is_finite() && hi.is_finite())?;
        Some((mark::date_position(at, band.len()), plane.y(lo), plane.y(hi)))
    };
    let mut shapes: Vec<Vec<(f64, f64, f64)>> = vec![Vec::new()];
    for at in 0..band.len() {
        match (place(at), shapes.last_mut()) {
            (Some(point), Some(shape)) => shape.push(point),
            _ => shapes.push(Vec::new()),
        }
    }
    html! {
        @for shape in shapes.iter().filter(|shape| shape.len() > 1) {
            @let there = shape.iter().map(|(x, _, hi)| Some((*x, *hi)));
            @let back = shape.iter().rev().map(|(x, lo, _)| Some((*x, *lo)));
            path.band d={ (path(there.chain(back))) "Z" } {}
        }
    }
}

/// Names at the ends of the lines.
fn names(series: &Series, plane: &Plane<'_>) -> Option<Markup> {
    let ends = series.lines.iter().enumerate().filter(|(_, line)| !line.is_hollow).filter_map(|(at, line)| {
        let last = dates::values(line).into_iter().flatten().last()?;
        Some((short_name(&line.name), plane.y(last), at))
    });
    let ends: Vec<(String, f64, usize)> = ends.collect();
    (series.lines.len() > 1).then(|| end_labels(&ends, HEIGHT, BELOW))
}

fn incidents(series: &Series) -> Option<String> {
    let told = series.incidents.iter().take(5).map(|incident| {
        let date = |at: usize| series.dates.get(at).map_or("?", String::as_str);
        let span = if incident.from == incident.to {
            date(incident.from).to_owned()
        } else {
            format!("{} to {}", date(incident.from), date(incident.to))
        };
        format!("{}: {}", line(&span), line(&incident.label))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("Shaded: {}.", told.join("; ")))
}

/// The note on marked dates.
fn mark_layer(series: &Series) -> Option<String> {
    let (days, label) = series.marked.as_ref().filter(|(days, _)| !days.is_empty())?;
    let named: Vec<&str> =
        days.iter().take(MOST_NAMED).filter_map(|at| Some(series.dates.get(*at)?.as_str())).collect();
    let more = if days.len() > MOST_NAMED { ", …" } else { "" };
    Some(format!("Triangles on the axis: {} ({}{more}).", line(label), line(&named.join(", "))))
}

/// Returns the numbers.
pub(crate) fn rows(series: &Series) -> Rows {
    let cell = |line: &SeriesLine, at: usize| {
        let point = line.points.get(at).cloned().unwrap_or_default();
        let estimate = Estimate { value: point.value, interval: point.interval, ..Estimate::default() };
        Cell::Value(estimate, series.scale.clone())
    };
    let row = |(at, date): (usize, &String)| {
        Row::of([Cell::Text(date.clone())].into_iter().chain(series.lines.iter().map(|line| cell(line, at))).collect())
    };
    Rows {
        columns: [Column::text("Date")]
            .into_iter()
            .chain(series.lines.iter().map(|line| Column::number(&line.name)))
            .collect(),
        rows: series.dates.iter().enumerate().map(row).collect(),
        ..Rows::default()
    }
}

fn sentence(series: &Series) -> String {
    let told = |of: &SeriesLine| {
        let known: Vec<(usize, f64)> =
            dates::values(of).into_iter().enumerate().filter_map(|(at, value)| Some((at, value?))).collect();
        let text = |value: f64| series.scale.text(value);
        let date = |at: usize| series.dates.get(at).map_or_else(String::new, |date| short_name(date));
        match known.as_slice() {
            [] => format!("{}: no values", short_name(&of.name)),
            [(at, only)] => format!("{}: {} on {}", short_name(&of.name), text(*only), date(*at)),
            [(from, first), .., (to, last)] => {
                let (lo, hi) =
                    known.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), (_, it)| (it.min(lo), it.max(hi)));
                format!(
                    "{}: {} on {} to {} on {}, lowest {}, highest {}",
                    short_name(&of.name),
                    text(*first),
                    date(*from),
                    text(*last),
                    date(*to),
                    text(lo),
                    text(hi)
                )
            }
        }
    };
    series.lines.iter().take(SERIES).map(told).collect::<Vec<_>>().join("; ")
}
