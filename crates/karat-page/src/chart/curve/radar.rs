//! A profile over three or more axes with the same as a list beside it; fewer axes are dots.

use std::f64::consts::TAU;

use maud::{Markup, html};

use crate::block::{Bar, Bars, Cell, Column, Radar, Row, Rows};
use crate::chart::figure::Figure;
use crate::chart::rows::bars;
use crate::draw::axis::{Axis, tick_text};
use crate::draw::dots;
use crate::draw::mark::coordinate;
use crate::number::Estimate;
use crate::text::visible::{line, short_name};

/// Fewest axes of a figure with an area.
const FEWEST: usize = 3;

/// Most axes that can be labelled.
const MOST: usize = 12;

const RADIUS: f64 = 110.0;
const CENTRE: (f64, f64) = (230.0, 150.0);

/// Characters of a line of a label: as many as fit between the circle and the edge.
const LABEL: usize = 17;

pub(crate) fn render(radar: &Radar) -> Markup {
    if radar.axes.len() < FEWEST || radar.axes.len() > MOST {
        return as_dots(radar);
    }
    let scale = &radar.scale;
    let values = radar.axes.iter().flat_map(|axis| dots::extent(&axis.estimate).chain(axis.baseline));
    let axis = Axis::of(scale, values);
    let missing = radar.axes.iter().filter(|axis| axis.estimate.finite_value().is_none()).count();
    let notes = [
        (missing > 0).then(|| format!("{missing} of {} axes have no value.", radar.axes.len())),
        radar.baseline.as_ref().map(|name| format!("Hollow and dashed: {}.", line(name))),
    ];
    let rows = rows(radar);
    Figure {
        is_beside: true,
        kind: "radar",
        sentence: sentence(radar),
        points: radar.axes.len() - missing,
        drawing: drawing(radar, &axis),
        legend: None,
        notes: notes.into_iter().flatten().collect(),
    }
    .render(&rows)
}

fn as_dots(radar: &Radar) -> Markup {
    let bar = |axis: &crate::block::RadarAxis| Bar {
        name: axis.name.clone(),
        estimate: axis.estimate.clone(),
        ..Bar::default()
    };
    bars::render(&Bars { scale: radar.scale.clone(), bars: radar.axes.iter().map(bar).collect(), ..Bars::default() })
}

fn spoke(at: usize, of: usize, share: f64) -> (f64, f64) {
    let angle = TAU * at as f64 / of as f64;
    (CENTRE.0 + RADIUS * share * angle.sin(), CENTRE.1 - RADIUS * share * angle.cos())
}

fn polygon(points: impl Iterator<Item = (f64, f64)>) -> String {
    let points: Vec<String> = points.map(|(x, y)| format!("{},{}", coordinate(x), coordinate(y))).collect();
    points.join(" ")
}

fn drawing(radar: &Radar, axis: &Axis) -> Markup {
    let n = radar.axes.len();
    let at_value = |at: usize, value: f64| spoke(at, n, axis.position(value));
    let all = |values: Vec<Option<f64>>| -> Option<Vec<(f64, f64)>> {
        values
            .into_iter()
            .enumerate()
            .map(|(at, value)| Some(at_value(at, value.filter(|it| it.is_finite())?)))
            .collect()
    };
    let profile = all(radar.axes.iter().map(|axis| axis.estimate.finite_value()).collect());
    let baseline = all(radar.axes.iter().map(|axis| axis.baseline).collect());
    // Figures with few axes end above the circle.
    let lowest = (0..n).map(|at| spoke(at, n, 1.09).1).fold(CENTRE.1, f64::max);
    html! {
        svg.radar viewBox=(format!("0 0 460 {}", coordinate(lowest + 22.0))) aria-hidden="true" {
            @for tick in axis.ticks() {
                polygon.grid-line fill="none" points=(polygon((0..n).map(|at| at_value(at, *tick)))) {}
            }
            @for at in 0..n {
                @let (x, y) = spoke(at, n, 1.0);
                line.grid-line x1=(coordinate(CENTRE.0)) y1=(coordinate(CENTRE.1)) x2=(coordinate(x)) y2=(coordinate(y)) {}
            }
            @if let Some(points) = baseline { polygon.diagonal points=(polygon(points.into_iter())) {} }
            @if let Some(points) = profile { polygon class="area curve s1" points=(polygon(points.into_iter())) {} }
            @for (at, axis) in radar.axes.iter().enumerate() {
                @if let Some(value) = axis.baseline.filter(|value| value.is_finite()) {
                    @let (x, y) = at_value(at, value);
                    circle class="dot hollow s5" cx=(coordinate(x)) cy=(coordinate(y)) r="3" {}
                }
                @if let Some(value) = axis.estimate.finite_value() {
                    @let (x, y) = at_value(at, value);
                    circle class="dot s1" cx=(coordinate(x)) cy=(coordinate(y)) r="3.5" data-key=(line(&axis.name)) {}
                }
                (label(&axis.name, at, n))
            }
            @for tick in axis.ticks().iter().skip(1).step_by(2) {
                @let (x, y) = at_value(0, *tick);
                text.soft x=(coordinate(x + 4.0)) y=(coordinate(y + 12.0)) { (tick_text(&radar.scale, *tick, false)) }
            }
        }
    }
}

fn label(name: &str, at: usize, n: usize) -> Markup {
    let (x, y) = spoke(at, n, 1.09);
    let anchor = if (x - CENTRE.0).abs() < 8.0 {
        "middle"
    } else if x > CENTRE.0 {
        "start"
    } else {
        "end"
    };
    let lines = label_lines(&short_name(name));
    // Labels above the figure grow upwards, those below it downwards.
    let lift = if lines.len() < 2 { 0.0 } else { 7.0 - 7.0 * (y - CENTRE.1) / RADIUS };
    html! {
        text text-anchor=(anchor) {
            title { (line(name)) }
            @for (at, words) in lines.iter().enumerate() {
                tspan x=(coordinate(x)) y=(coordinate(y + 4.0 - lift + 14.0 * at as f64)) { (words) }
            }
        }
    }
}

/// Returns a name on one line, or on two lines that are broken between its words; the list has the whole name.
fn label_lines(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    if chars.len() <= LABEL {
        return vec![name.to_owned()];
    }
    let is_end = |at: usize| match (chars.get(at - 1), chars.get(at)) {
        (Some(before), Some(after)) => !before.is_alphanumeric() || (before.is_lowercase() && after.is_uppercase()),
        _ => false,
    };
    let end = (1..=LABEL).rev().find(|at| is_end(*at)).unwrap_or(LABEL);
    let (first, rest) = chars.split_at(end);
    let second: String =
        if rest.len() <= LABEL { rest.iter().collect() } else { rest.iter().take(LABEL - 1).chain(&['…']).collect() };
    vec![first.iter().collect::<String>().trim_end().to_owned(), second]
}

/// Returns the numbers.
pub(crate) fn rows(radar: &Radar) -> Rows {
    let scale = &radar.scale;
    let mut columns = vec![Column::text("Axis"), Column::number("Value")];
    if let Some(baseline) = &radar.baseline {
        columns.push(Column::number(baseline));
        columns.push(Column::number("Difference"));
    }
    let row = |axis: &crate::block::RadarAxis| {
        let mut cells = vec![Cell::Text(axis.name.clone()), Cell::Value(axis.estimate.clone(), scale.clone())];
        if radar.baseline.is_some() {
            let point = |value: Option<f64>| {
                value.map_or_else(|| Estimate::missing("no value"), |value| Estimate::point(value, 1))
            };
            cells.push(Cell::Value(point(axis.baseline), scale.clone()));
            let difference = axis.estimate.finite_value().zip(axis.baseline).map(|(value, before)| value - before);
            cells.push(Cell::Difference(point(difference), scale.clone()));
        }
        Row::of(cells)
    };
    Rows { columns, rows: radar.axes.iter().map(row).collect(), ..Rows::default() }
}

fn sentence(radar: &Radar) -> String {
    let told =
        |axis: &crate::block::RadarAxis| format!("{} {}", short_name(&axis.name), radar.scale.sentence(&axis.estimate));
    radar.axes.iter().map(told).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-36: long names of axes stand on two lines, broken between words.
    #[test]
    fn long_labels_have_two_lines() {
        assert_eq!(label_lines("coverage"), ["coverage"]);
        assert_eq!(label_lines("completeness of evidence"), ["completeness of", "evidence"]);
        assert_eq!(label_lines("significanceCalibration"), ["significance", "Calibration"]);
        assert_eq!(label_lines("narrative_quality.overall"), ["narrative_", "quality.overall"]);
        assert_eq!(label_lines(&"x".repeat(40)), ["x".repeat(17), format!("{}…", "x".repeat(16))]);
    }
}
