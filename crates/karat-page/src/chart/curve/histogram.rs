//! A distribution of values in bins of equal width; fewer than five values are drawn one by one.

use maud::{Markup, html};

use crate::block::{Bin, Cell, Column, Histogram, Row, Rows};
use crate::chart::figure::{Figure, Plane};
use crate::draw::axis::Axis;
use crate::draw::mark::{Marker, coordinate, percent};
use crate::number::{Scale, Unit, count_noun};
use crate::text::visible::{line, short_name};

const HEIGHT: f64 = 160.0;

/// Bins over a declared range.
const BINS: usize = 8;

/// Values below which each is a dot.
const FEW: usize = 5;

pub(crate) fn render(histogram: &Histogram) -> Markup {
    let scale = &histogram.scale;
    let values = values(histogram);
    let mark = histogram.mark.as_ref().map(|(value, _)| *value);
    let axis = axis(histogram, &values);
    let bins = bins(&values, &axis);
    let is_few = values.len() < FEW;
    let drawing = if is_few { single_values(histogram, &axis) } else { bars(histogram, &bins, &axis) };
    let notes = [
        (histogram.missing > 0).then(|| format!("{} without a value.", count_noun(histogram.missing, "item"))),
        histogram.mark.as_ref().map(|(value, name)| format!("Dashed line: {} at {}.", line(name), scale.text(*value))),
        is_few.then(|| "Each value is a dot: they are too few for bins.".to_owned()),
    ];
    Figure {
        is_beside: false,
        kind: "histogram",
        sentence: sentence(&values, scale, mark),
        points: if is_few { values.len() } else { bins.len() },
        drawing,
        legend: None,
        notes: notes.into_iter().flatten().collect(),
    }
    .render(&table(&bins, scale))
}

/// Returns the numbers.
pub(crate) fn rows(histogram: &Histogram) -> Rows {
    let values = values(histogram);
    table(&bins(&values, &axis(histogram, &values)), &histogram.scale)
}

fn values(histogram: &Histogram) -> Vec<f64> {
    histogram.values.iter().map(|(value, _)| *value).filter(|value| value.is_finite()).collect()
}

fn axis(histogram: &Histogram, values: &[f64]) -> Axis {
    let mark = histogram.mark.as_ref().map(|(value, _)| *value);
    Axis::of(&histogram.scale, values.iter().copied().chain(mark))
}

/// Counts values into bins; the last bin contains its upper end.
fn bins(values: &[f64], axis: &Axis) -> Vec<Bin> {
    let (lo, hi) = axis.ends();
    let width = (hi - lo) / BINS as f64;
    let mut bins: Vec<Bin> =
        (0..BINS).map(|at| Bin { lo: lo + width * at as f64, hi: lo + width * (at + 1) as f64, count: 0 }).collect();
    for value in values {
        let at = (axis.position(*value) * BINS as f64).floor().clamp(0.0, (BINS - 1) as f64) as usize;
        if let Some(bin) = bins.get_mut(at) {
            bin.count += 1;
        }
    }
    bins
}

fn bars(histogram: &Histogram, bins: &[Bin], axis: &Axis) -> Markup {
    let vertical = Axis::from_zero(bins.iter().map(|bin| bin.count as f64));
    let counts = Scale::of(Unit::Count);
    let plane = Plane { vertical: &vertical, scale: &counts, height: HEIGHT, below: 22.0 };
    let keys = |bin: usize| -> Vec<&str> {
        let is_in =
            |value: f64| (axis.position(value) * BINS as f64).floor().clamp(0.0, (BINS - 1) as f64) as usize == bin;
        histogram.values.iter().filter(|(value, _)| is_in(*value)).filter_map(|(_, key)| key.as_deref()).collect()
    };
    let content = html! {
        @for (at, bin) in bins.iter().enumerate() {
            @let y = plane.y(bin.count as f64);
            @let (from, to) = (axis.position(bin.lo), axis.position(bin.hi));
            @let keys = keys(at);
            g data-lo=(bin.lo) data-hi=(bin.hi) {
                rect.bar-mark.s1 x=(percent(from + 0.002)) width=(percent((to - from - 0.004).max(0.0))) y=(coordinate(y))
                    height=(coordinate(HEIGHT - y)) data-key=[keys.first().filter(|_| keys.len() == 1).map(|key| line(key))] {}
                @if bin.count > 0 {
                    text x=(percent((from + to) / 2.0)) y=(coordinate(y - 4.0)) text-anchor="middle" { (bin.count) }
                }
            }
        }
        (threshold(histogram, axis))
        (axis.labels(&histogram.scale, false, HEIGHT + 16.0))
    };
    plane.render(&content, None)
}

fn single_values(histogram: &Histogram, axis: &Axis) -> Markup {
    let height = 40.0;
    html! {
        div.inset { svg width="100%" height=(height + 22.0) aria-hidden="true" {
            (axis.grid(height))
            line.axis-line x1="0" x2="100%" y1=(height) y2=(height) {}
            @for (value, key) in histogram.values.iter().filter(|(value, _)| value.is_finite()) {
                (Marker::of(0).with_key(key.as_deref()).draw(axis.position(*value), height / 2.0))
            }
            @if let Some((value, _)) = &histogram.mark {
                @let x = percent(axis.position(*value));
                line.threshold x1=(x) x2=(x) y1="0" y2=(height) {}
            }
            (axis.labels(&histogram.scale, false, height + 16.0))
        } }
    }
}

fn threshold(histogram: &Histogram, axis: &Axis) -> Markup {
    html! {
        @if let Some((value, name)) = &histogram.mark {
            @let position = axis.position(*value);
            @let x = percent(position);
            line.threshold x1=(x) x2=(x) y1="-6" y2=(HEIGHT) {}
            text x=(x) y="4" dx=(if position > 0.5 { "-6" } else { "6" }) text-anchor=(if position > 0.5 { "end" } else { "start" }) {
                (short_name(name))
            }
        }
    }
}

fn table(bins: &[Bin], scale: &Scale) -> Rows {
    let row = |bin: &Bin| {
        Row::of(vec![Cell::Text(format!("{} to {}", scale.text(bin.lo), scale.text(bin.hi))), Cell::Count(bin.count)])
    };
    Rows {
        columns: vec![Column::text("Bin"), Column::number("Count")],
        rows: bins.iter().map(row).collect(),
        ..Rows::default()
    }
}

fn sentence(values: &[f64], scale: &Scale, mark: Option<f64>) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (Some(lo), Some(hi), Some(middle)) = (sorted.first(), sorted.last(), sorted.get(sorted.len() / 2)) else {
        return "no values".to_owned();
    };
    let below = mark.map(|mark| {
        let below = values.iter().filter(|value| **value < mark).count();
        format!(", {below} below {}", scale.text(mark))
    });
    format!(
        "{} from {} to {}, middle {}{}",
        count_noun(values.len() as u64, "value"),
        scale.text(*lo),
        scale.text(*hi),
        scale.text(*middle),
        below.unwrap_or_default()
    )
}
