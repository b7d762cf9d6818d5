//! Marks: positions as text, markers of series, lines over percentages.

use std::fmt::Write as _;

use maud::{Markup, html};

/// Height of a line of a chart with one line a thing, in pixels.
pub(crate) const LINE_HEIGHT: f64 = 28.0;

/// Returns the position of a date from 0 to 1; a single one stands in the centre.
pub(crate) fn date_position(at: usize, dates: usize) -> f64 {
    if dates < 2 { 0.5 } else { at as f64 / (dates - 1) as f64 }
}

/// Series that are told apart by colour, marker and dash; more become small multiples.
pub(crate) const SERIES: usize = 5;

/// Width of the coordinates of a path, which is stretched to the width of the chart.
pub(crate) const PATH_WIDTH: f64 = 1000.0;

/// Formats a coordinate with at most two decimals.
pub(crate) fn coordinate(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Formats a position from 0 to 1 as a percentage of the width.
pub(crate) fn percent(position: f64) -> String {
    format!("{}%", coordinate(100.0 * position))
}

pub(crate) fn series_class(series: usize) -> String {
    format!("s{}", series % SERIES + 1)
}

/// Returns the classes of a curve of a series: colour and dash.
pub(crate) fn curve_class(series: usize) -> String {
    format!("curve {} dash-{}", series_class(series), series % SERIES + 1)
}

/// The marker of a series, at a position from 0 to 1 and this height.
pub(crate) struct Marker<'a> {
    pub(crate) series: usize,
    pub(crate) is_hollow: bool,
    /// Class in place of the colour of the series.
    pub(crate) class: Option<&'a str>,
    pub(crate) key: Option<&'a str>,
    pub(crate) title: Option<String>,
}

impl<'a> Marker<'a> {
    pub(crate) fn of(series: usize) -> Self {
        Self { series, is_hollow: false, class: None, key: None, title: None }
    }

    pub(crate) fn hollow(self, is_hollow: bool) -> Self {
        Self { is_hollow, ..self }
    }

    pub(crate) fn with_key(self, key: Option<&'a str>) -> Self {
        Self { key, ..self }
    }

    pub(crate) fn draw(&self, position: f64, y: f64) -> Markup {
        let class = self.class.map_or_else(|| series_class(self.series), str::to_owned);
        let key = self.key.map(crate::text::visible::line);
        // A nested drawing, because the corners of a path cannot be percentages.
        let corners = match self.series % SERIES {
            1 => Some("M-4 -4H4V4H-4Z"),
            2 => Some("M0 -5.5L5.5 0L0 5.5L-5.5 0Z"),
            3 => Some("M0 -5L5 4H-5Z"),
            4 => Some("M0 5L5 -4H-5Z"),
            _ => None,
        };
        html! {
            @if let Some(corners) = corners {
                svg x=(percent(position)) y=(coordinate(y)) width="1" height="1" overflow="visible" {
                    path class={"dot " (class) @if self.is_hollow { " hollow" }} d=(corners) data-key=[&key] {
                        @if let Some(title) = &self.title { title { (title) } }
                    }
                }
            } @else {
                circle class={"dot " (class) @if self.is_hollow { " hollow" }} cx=(percent(position)) cy=(coordinate(y))
                    r="4.5" data-key=[&key] {
                    @if let Some(title) = &self.title { title { (title) } }
                }
            }
        }
    }
}

/// A key to a series: its line and its marker.
pub(crate) fn swatch(series: usize, with_line: bool) -> Markup {
    html! {
        svg width="28" height="12" aria-hidden="true" {
            @if with_line { line class=(curve_class(series)) x1="0" x2="28" y1="6" y2="6" {} }
            (Marker::of(series).draw(0.5, 6.0))
        }
    }
}

/// A drawing whose horizontal coordinates run from 0 to [`PATH_WIDTH`] over the width of the chart.
pub(crate) fn stretch(height: f64, content: &Markup) -> Markup {
    html! {
        svg width="100%" height=(height) viewBox=(format!("0 0 {PATH_WIDTH} {height}")) preserveAspectRatio="none" {
            (content)
        }
    }
}

/// Returns the path through points (position from 0 to 1, height); a missing point interrupts it.
pub(crate) fn path(points: impl Iterator<Item = Option<(f64, f64)>>) -> String {
    let mut path = String::new();
    let mut is_down = false;
    for point in points {
        match point {
            Some((x, y)) => {
                let command = if is_down { 'L' } else { 'M' };
                let _ = write!(path, "{command}{} {}", coordinate(x * PATH_WIDTH), coordinate(y));
                is_down = true;
            }
            None => is_down = false,
        }
    }
    path
}

/// A curve of a stretched drawing, as wide as its style says at any width of the chart.
pub(crate) fn curve(class: &str, path: &str) -> Markup {
    html! { path class=(class) d=(path) vector-effect="non-scaling-stroke" {} }
}
