//! The results of a task: one value of several labels, and where it goes.
//!
//! Read `settle` first: it makes one value of several labels. `agreement` says how far people agree. `label_rows` has labels in
//! the form that rubrics read. `export` writes labels as files, each with the provenance of the task; `golden` writes them as a golden set,
//! and `anchoring` hands them to the analyses of runs.

pub(crate) mod agreement;
pub(crate) mod anchoring;
pub(crate) mod export;
pub(crate) mod golden;
pub(crate) mod label_rows;
pub(crate) mod settle;
