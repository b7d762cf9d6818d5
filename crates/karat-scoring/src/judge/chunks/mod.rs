//! MAP: to be written.

pub(crate) mod chunk_verdicts;
pub(crate) mod coverage;
pub(crate) mod evidence;
pub(crate) mod item_texts;
pub(crate) mod member_grades;
pub(crate) mod merge_findings;
pub(crate) mod routed_members;
pub(crate) mod split;

