//! Suites of results: a dataset, an output for each sample, variant and trial, and the scores that the source gave.
//!
//! - `recording` collects samples and outputs while a source is read, and writes the suite at its end.
//! - `output` is one output with its facts and scores, as a row of `data/outputs/VARIANT.jsonl`.
//! - `scores` names the scores and makes their `given` scorers.
//!
//! An importer opens a `Recording`, pushes samples and outputs in the source's order, and closes it. Read `recording`.

mod output;
mod recording;
mod scores;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use output::{Output, TokenUse};
pub(crate) use recording::{Known, Recording, Sample};
/// Imports of files in tests of all tools.
#[cfg(test)]
pub(crate) use tests as testing;
