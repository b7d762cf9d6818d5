//! Judging in pieces: a document or list that is too long for the judge's window.
//!
//! `split` cuts the contents; `evidence` finds the pieces that hold the evidence of each list member (texts by `item_texts`).
//! After the replies `chunk_verdicts` combines the pieces' readings into one verdict: grades by weight, or by member
//! (`member_grades`), findings by `merge_findings`, both over `routed_members` (which members each piece saw). `coverage`
//! records which piece judged what. `round/` calls `split` before and `chunk_verdicts` after the calls.

pub(crate) mod chunk_verdicts;
pub(crate) mod coverage;
pub(crate) mod evidence;
pub(crate) mod item_texts;
pub(crate) mod member_grades;
pub(crate) mod merge_findings;
pub(crate) mod routed_members;
pub(crate) mod split;
