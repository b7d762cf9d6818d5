//! Analyses of the dataset: what it holds (`balance`), figures of its parts (`slices`), and sessions by name
//! (`summary_corpus`).

pub(super) mod balance;
pub(super) mod slices;
pub(super) mod summary_corpus;
