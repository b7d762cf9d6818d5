//! Charts: data to SVG, deterministic, without a script.
//!
//! ```text
//! figure   the frame of a chart: name, legend, table; its marks are of crate::draw
//! rows/    one line a thing: forest, bars
//! grid/    heat map of systems × samples, matrix of counts
//! curve/   over a horizontal axis: curve, histogram, series, stack, small multiples, radar
//! ```
//!
//! Horizontal positions are percentages and sizes are pixels, so that a chart fills its place at any width while text,
//! dots and lines keep their size. Each chart tells itself in one sentence and carries its numbers as a table.

pub(crate) mod curve;
pub(crate) mod figure;
pub(crate) mod grid;
pub(crate) mod rows;
