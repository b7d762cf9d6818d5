//! The last values of something in a cell: a line, a dot at its end, gaps where values are missing.

use maud::{Markup, html};

use crate::draw::axis::Axis;
use crate::draw::mark::{coordinate, date_position, path};
use crate::number::Scale;

const WIDTH: f64 = 96.0;
const HEIGHT: f64 = 20.0;

/// Draws values on an axis of their own. The numbers are beside it, so it has no name.
pub(crate) fn draw(values: &[Option<f64>]) -> Markup {
    let values: Vec<Option<f64>> = values.iter().map(|value| value.filter(|value| value.is_finite())).collect();
    let axis = Axis::of(&Scale::default(), values.iter().flatten().copied());
    let place = |at: usize, value: f64| {
        let x = date_position(at, values.len());
        (4.0 + x * (WIDTH - 8.0), 3.0 + (1.0 - axis.position(value)) * (HEIGHT - 6.0))
    };
    // `path` stretches positions; here they are pixels already.
    let points = || values.iter().enumerate().map(|(at, value)| value.map(|value| place(at, value)));
    let line = path(points().map(|point| point.map(|(x, y)| (x / crate::draw::mark::PATH_WIDTH, y))));
    let last = points().flatten().last();
    html! {
        svg.spark width=(WIDTH) height=(HEIGHT) aria-hidden="true" {
            @if values.iter().flatten().count() > 1 { path class="curve thin s5" d=(line) {} }
            @if let Some((x, y)) = last { circle class="dot s1" cx=(coordinate(x)) cy=(coordinate(y)) r="2.5" {} }
        }
    }
}
