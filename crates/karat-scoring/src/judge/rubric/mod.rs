//! A rubric, compiled for one judge model.
//!
//! `compiled` checks the rubric and compiles its templates: `item` (one shown value), `section_labels` (labels of fenced
//! sections), `examples` (calibration examples), `caps` (score limits), `counted`
//! (scores that are shares of lists). `scale` words a scale for the prompt, `overall`
//! computes the overall score from the dimensions.

pub(crate) mod caps;
pub(crate) mod compiled;
pub(crate) mod counted;
pub(crate) mod examples;
pub(crate) mod item;
pub(crate) mod overall;
pub(crate) mod scale;
pub(crate) mod section_labels;
