//! Small multiples: a plot for each line with the others grey behind it, on shared axes.

use maud::{Markup, html};

use crate::block::Series;
use crate::chart::curve::dates;
use crate::chart::figure::Plane;
use crate::draw::axis::Axis;
use crate::draw::mark::{self, Marker, coordinate, stretch};
use crate::text::visible::Name;

const HEIGHT: f64 = 72.0;

/// Most plots; further lines are in the table.
const MOST: usize = 12;

pub(crate) fn draw(of: &Series, axis: &Axis) -> Markup {
    let n = of.dates.len();
    let plane = Plane { vertical: axis, scale: &of.scale, height: HEIGHT, below: 18.0 };
    let paths: Vec<String> = of.lines.iter().map(|line| dates::line_path(line, n, |value| plane.y(value))).collect();
    html! {
        div.multiples {
            @for (at, line) in of.lines.iter().enumerate().take(MOST) {
                @let values = dates::values(line);
                @let last = values.iter().enumerate().rev().find_map(|(at, value)| Some((at, (*value)?)));
                @let content = html! {
                    (stretch(HEIGHT, &html! {
                        @for (other, path) in paths.iter().enumerate().take(MOST) {
                            @if other != at { (mark::curve("behind", path)) }
                        }
                        @if let Some(path) = paths.get(at) { (mark::curve("curve s1", path)) }
                    }))
                    @if let Some((value, _)) = &of.threshold {
                        @let y = coordinate(plane.y(*value));
                        line.threshold x1="0" x2="100%" y1=(y) y2=(y) {}
                    }
                    @let ends: Vec<String> = of.dates.first().into_iter().chain(of.dates.last().filter(|_| n > 1)).cloned().collect();
                    (dates::labels(&ends, |at| mark::date_position(at, ends.len()), HEIGHT + 14.0))
                    @if let Some((day, value)) = last { (Marker::of(0).draw(mark::date_position(day, n), plane.y(value))) }
                };
                div {
                    div.label { (Name(&line.name)) span.soft { (dates::last_value(line, &of.scale)) } }
                    (plane.render(&content, None))
                }
            }
        }
        @if of.lines.len() > MOST { p.soft.small { "The first " (MOST) " of " (of.lines.len()) " are drawn; the table has all." } }
    }
}
