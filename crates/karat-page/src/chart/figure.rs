//! The frame of a chart: its name in one sentence, its legend, and its numbers as a table.

use maud::{Markup, html};

use crate::block::Rows;
use crate::component::table;
use crate::draw::axis::{Axis, tick_text};
use crate::draw::mark::coordinate;
use crate::number::Scale;
use crate::text::visible::{Words, line};

/// Rows of the largest table that paper has beside its chart.
const PRINTED: usize = 12;

/// A drawn chart and what it says.
pub(crate) struct Figure {
    /// Name for tests, such as `forest`.
    pub(crate) kind: &'static str,
    /// The accessible name.
    pub(crate) sentence: String,
    /// Marks drawn.
    pub(crate) points: usize,
    pub(crate) drawing: Markup,
    pub(crate) legend: Option<Markup>,
    /// Remarks on how it is drawn.
    pub(crate) notes: Vec<String>,
    /// True if the numbers stand beside the drawing.
    pub(crate) is_beside: bool,
}

impl Figure {
    /// Renders the figure with the numbers behind it.
    pub(crate) fn render(&self, rows: &Rows) -> Markup {
        html! {
            figure.chart data-testid=(self.kind) data-points=(self.points) {
                @if let Some(legend) = &self.legend { (legend) }
                div class=[self.is_beside.then_some("split")] {
                    div role="img" aria-label=(line(&self.sentence)) { (self.drawing) }
                    @if self.is_beside { (table::plain(rows)) }
                }
                @if !self.notes.is_empty() {
                    @for note in &self.notes { p.soft.small { (Words(note)) } }
                }
                @if !self.is_beside {
                    details class=[(rows.rows.len() > PRINTED).then_some("fold")] {
                        summary { "Table" }
                        (table::plain(rows))
                    }
                }
            }
        }
    }
}

/// A plane with numbers beside its vertical axis; `content` is drawn in a drawing of this height.
pub(crate) struct Plane<'a> {
    pub(crate) vertical: &'a Axis,
    pub(crate) scale: &'a Scale,
    pub(crate) height: f64,
    /// Space below for the labels of the horizontal axis.
    pub(crate) below: f64,
}

impl Plane<'_> {
    /// Returns the height at which a value stands.
    pub(crate) fn y(&self, value: f64) -> f64 {
        self.height * (1.0 - self.vertical.position(value))
    }

    pub(crate) fn render(&self, content: &Markup, end: Option<&Markup>) -> Markup {
        let texts: Vec<String> = self.vertical.ticks().iter().map(|tick| tick_text(self.scale, *tick, false)).collect();
        let width = gutter(texts.iter().map(String::as_str));
        let full = self.height + self.below + 8.0;
        html! {
            div.plane.with-end[end.is_some()] {
                svg width=(width) height=(full) aria-hidden="true" {
                    svg y="8" overflow="visible" {
                        @for (tick, text) in self.vertical.ticks().iter().zip(&texts) {
                            text.soft x=(width - 8.0) y=(coordinate(self.y(*tick) + 4.0)) text-anchor="end" { (text) }
                        }
                    }
                }
                svg width="100%" height=(full) aria-hidden="true" {
                    svg y="8" width="100%" height=(self.height + self.below) overflow="visible" {
                        @for tick in self.vertical.ticks() {
                            @let y = coordinate(self.y(*tick));
                            line.grid-line x1="0" x2="100%" y1=(y) y2=(y) {}
                        }
                        (content)
                        line.axis-line x1="0" x2="100%" y1=(self.height) y2=(self.height) {}
                    }
                }
                @if let Some(end) = end { (end) }
            }
        }
    }
}

/// Returns the width that these texts need, in pixels, with the space to the plot. Digits of the font are 7.6 px wide at
/// its size of 12 px.
pub(crate) fn gutter<'a>(texts: impl Iterator<Item = &'a str>) -> f64 {
    let longest = texts.map(|text| text.chars().count()).max().unwrap_or(0);
    12.0 + 7.6 * longest as f64
}

/// Names at the end of curves, apart from each other by at least a line.
pub(crate) fn end_labels(labels: &[(String, f64, usize)], height: f64, below: f64) -> Markup {
    let mut order: Vec<(f64, usize)> = labels.iter().enumerate().map(|(at, (_, y, _))| (*y, at)).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut lowest = f64::NEG_INFINITY;
    let mut placed: Vec<(f64, usize)> = Vec::new();
    for (y, at) in order {
        lowest = y.max(lowest + 15.0);
        placed.push((lowest, at));
    }
    // Pushed below the plot: move up from the bottom.
    let mut highest = height + 4.0;
    for (y, _) in placed.iter_mut().rev() {
        *y = y.min(highest);
        highest = *y - 15.0;
    }
    let width = gutter(labels.iter().map(|(name, ..)| name.as_str()));
    html! {
        svg.end width=(width) height=(height + below + 8.0) aria-hidden="true" {
            svg y="8" overflow="visible" {
                @for (y, at) in &placed {
                    @if let Some((name, _, _)) = labels.get(*at) {
                        text x="4" y=(coordinate(y + 4.0)) { (name) }
                    }
                }
            }
        }
    }
}

/// A list of names with their swatches.
pub(crate) fn legend<'a>(items: impl Iterator<Item = (Markup, &'a str)>) -> Markup {
    html! {
        ul.legend { @for (swatch, name) in items { li { (swatch) (crate::text::visible::Name(name)) } } }
    }
}

/// Returns `1 of 3 has no value`, for the note of a chart, or `None`.
pub(crate) fn missing_note(missing: usize, all: usize, noun: &str) -> Option<String> {
    (missing > 0).then(|| format!("{missing} of {all} {noun}s have no value and are left as gaps."))
}

/// Returns the note of an axis that shows a part of its range.
pub(crate) fn cut_note(axis: &Axis, scale: &Scale) -> Option<String> {
    let (lo, hi) = axis.ends();
    axis.is_cut
        .then(|| format!("The axis shows {} to {} only.", tick_text(scale, lo, false), tick_text(scale, hi, false)))
}
