//! Charts: data to SVG, deterministic, without a script.
//!
//! ```text
//! draw/    axis (ticks, positions) ─► mark (markers, paths) ─► figure (name, legend, table)
//! rows/    one line a thing: forest, dots, bars
//! grid/    heat map of systems × samples, matrix of counts
//! curve/   over a horizontal axis: curve, histogram, series, stack, small multiples, sparkline, radar
//! ```
//!
//! Horizontal positions are percentages and sizes are pixels, so that a chart fills its place at any width while text,
//! dots and lines keep their size. Each chart tells itself in one sentence and carries its numbers as a table.

pub(crate) mod curve;
pub(crate) mod draw;
pub(crate) mod grid;
pub(crate) mod rows;
