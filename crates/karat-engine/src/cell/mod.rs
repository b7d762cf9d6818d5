//! One cell: its steps, scores and judgments.
//!
//! - `evaluate` takes a cell from its first step to its record; called by the workers of `run::scheduler`.
//! - `steps` finds or makes the outputs of its steps, `judgments` its judgments; both ask `reuse::resolver` for what exists
//!   and `call::executor` for the rest. `step_outcome` is what becomes of a step.
//! - `context` is what all cells of a run share; `row` what all cells of a row share.
//! - `single_flight` does work under one content key once at a time.
//! - `deadline` limits the time of a cell; `files` reads recorded outputs, and `joined_rows`
//!   the rows that scorers join with a cell.
//!
//! Read `evaluate`, `steps`, `judgments`.

pub(crate) mod context;
pub(crate) mod deadline;
pub(crate) mod evaluate;
pub(crate) mod files;
pub(crate) mod joined_rows;
pub(crate) mod judgments;
pub(crate) mod media;
pub(crate) mod row;
pub(crate) mod single_flight;
pub(crate) mod step_outcome;
pub(crate) mod steps;
