//! Analyses of the judges: how far they agree, with each other and with people, and what biases them.
//!
//! `agreement`, `calibration` and `human_anchor` compare grades; `judge_bias`, over the grades of `bias_grades`, and `evidence_position` look for what grades
//! follow besides quality; `grading` counts disagreement and failures; `cascade` estimates judges from a cheaper one. One file an analysis, each with `build` for the registry.

pub(super) mod agreement;
mod bias_grades;
pub(super) mod calibration;
pub(super) mod cascade;
pub(super) mod evidence_position;
pub(super) mod grading;
pub(super) mod human_anchor;
pub(super) mod judge_bias;
