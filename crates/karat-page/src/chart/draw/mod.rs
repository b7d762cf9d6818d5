//! Primitives: `axis` maps values to positions, `mark` draws at them, `figure` frames a chart.

pub(crate) mod axis;
pub(crate) mod figure;
pub(crate) mod mark;
