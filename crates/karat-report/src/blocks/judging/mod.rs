//! Findings about judges as blocks: `agreement` with each other, `calibration` against people, `grading` of cells by several,
//! `cascade` for judges estimated from a cheaper one, `human_anchor` for corrected scores, `judge_bias` and `evidence_position` for systematic errors.

pub(super) mod agreement;
pub(crate) mod calibration;
pub(super) mod cascade;
pub(super) mod evidence_position;
pub(super) mod grading;
pub(super) mod human_anchor;
pub(super) mod judge_bias;
