//! Reads a stored run once and collects everything that is known of it.
//!
//! Reading order: [`pass`] drives the one pass over the rows and builds [`findings::Findings`], the result that every other
//! folder and every report starts from.
//!
//! - `metric_names`: which metric stands for the run, and patterns such as `quality.*`
//! - `baseline_variants`: variants without a model, beside the systems with one
//! - `error`: runs that cannot be analysed
//! - `answer`: which variant and which model to choose
//! - `recommend`: advice drawn from the findings
//! - `instrument`: the judges and rules that measured, and whether they changed between two runs
//! - `missing_judges`: judges that failed on part of the cells
//! - `served_models`: the names under which models and judges answered
//! - `unmatched_outputs`: scorers whose path leads to nothing in any output
//! - `matched_cells`: pairs the cells of two systems trial by trial, for `compare` and `gate`

mod answer;
pub(crate) mod baseline_variants;
pub(crate) mod error;
pub(crate) mod findings;
pub(crate) mod instrument;
pub(crate) mod matched_cells;
pub(crate) mod metric_names;
pub(crate) mod missing_judges;
pub(crate) mod pass;
mod recommend;
pub(crate) mod served_models;
pub(crate) mod unmatched_outputs;
