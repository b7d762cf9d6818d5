//! Charts with one line a thing: its name, its plot, its value.
//!
//! The name and the value are text beside the plot, above it where the panel is narrow.

pub(crate) mod bars;
pub(crate) mod forest;

use maud::{Markup, html};

use crate::draw::axis::Axis;
use crate::draw::mark::LINE_HEIGHT;
use crate::number::Scale;
use crate::text::visible::Name;

/// Most lines drawn; all are in the table.
pub(crate) const MOST_LINES: usize = 60;

/// A line of the chart.
pub(crate) struct Line<'a> {
    pub(crate) name: &'a str,
    /// The marks on the shared axis.
    pub(crate) plot: Markup,
    pub(crate) value: Markup,
}

/// The lines over a shared axis. `behind` is drawn in each of them, below its marks.
pub(crate) fn draw(
    lines: &[Line<'_>],
    axis: &Axis,
    scale: &Scale,
    is_difference: bool,
    behind: &Markup,
    ends: Option<(&str, &str)>,
) -> Markup {
    html! {
        div.rows.roomy[is_difference] {
            @for line in lines {
                div.row {
                    div.name { (Name(line.name)) }
                    div.plot {
                        svg width="100%" height=(LINE_HEIGHT) aria-hidden="true" {
                            (behind)
                            (axis.grid(LINE_HEIGHT))
                            (line.plot)
                        }
                    }
                    div.value { (line.value) }
                }
            }
            div.row.axis-row {
                div.name {}
                div.plot {
                    svg width="100%" height=(if ends.is_some() { 36 } else { 20 }) aria-hidden="true" {
                        (axis.labels(scale, is_difference, 15.0))
                        @if let Some((left, right)) = ends {
                            text.soft x="0" y="32" { (left) }
                            text.soft x="100%" y="32" text-anchor="end" { (right) }
                        }
                    }
                }
                div.value {}
            }
        }
    }
}

/// Returns the note on lines that are only in the table.
pub(crate) fn cut_lines(all: usize) -> Option<String> {
    (all > MOST_LINES).then(|| format!("The first {MOST_LINES} of {all} are drawn; the table has all."))
}
