//! Sections and documents about judges: `judges` of this run, `agreement` of raters, `calibration` against people,
//! `cascade` for judges estimated from a cheaper one, `human_anchor` for corrected scores, `judge_bias` and `evidence_position` for systematic errors.

pub(super) mod agreement;
pub(super) mod calibration;
pub(super) mod cascade;
pub(super) mod evidence_position;
pub(super) mod human_anchor;
pub(super) mod judge_bias;
pub(super) mod judges;
