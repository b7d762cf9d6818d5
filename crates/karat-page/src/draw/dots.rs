//! Dots with intervals: the value is a dot, its interval a line. Too few values for an interval are drawn one by one.

use maud::{Markup, html};

use crate::draw::axis::Axis;
use crate::draw::mark::{LINE_HEIGHT, Marker, percent};
use crate::number::Estimate;

/// Returns all numbers that an axis must show.
pub(crate) fn extent(estimate: &Estimate) -> impl Iterator<Item = f64> {
    let ends = estimate.finite_interval().map(|(lo, hi)| [lo, hi]);
    estimate
        .finite_value()
        .into_iter()
        .chain(ends.into_iter().flatten())
        .chain(estimate.values.iter().copied())
        .collect::<Vec<_>>()
        .into_iter()
}

/// The marks of a value.
pub(crate) fn marks(estimate: &Estimate, axis: &Axis, marker: &Marker<'_>) -> Markup {
    let middle = LINE_HEIGHT / 2.0;
    let class = marker.class.map_or_else(|| crate::draw::mark::series_class(marker.series), str::to_owned);
    html! {
        @if let Some((lo, hi)) = estimate.finite_interval() {
            line class={"whisker " (class)} x1=(percent(axis.position(lo))) x2=(percent(axis.position(hi))) y1=(middle) y2=(middle) {}
        } @else {
            @for value in &estimate.values {
                circle class={"value-dot " (class)} cx=(percent(axis.position(*value))) cy=(middle) r="3" {}
            }
        }
        @if let Some(value) = estimate.finite_value() { (marker.draw(axis.position(value), middle)) }
    }
}

/// A value on its interval within a cell of a table.
pub(crate) fn inline(estimate: &Estimate, axis: &Axis) -> Markup {
    html! {
        svg.inline-plot width="160" height=(LINE_HEIGHT) aria-hidden="true" {
            line.grid-line x1="0" x2="100%" y1=(LINE_HEIGHT / 2.0) y2=(LINE_HEIGHT / 2.0) {}
            svg x="6" width="148" height=(LINE_HEIGHT) overflow="visible" { (marks(estimate, axis, &Marker::of(0))) }
        }
    }
}
