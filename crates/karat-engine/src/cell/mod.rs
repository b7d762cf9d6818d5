//! One cell: its steps, scores and judgments.
//!
//! - `evaluate` takes a cell from its first step to its record; called by the workers of `run::scheduler`.
//! - `steps` finds or makes the outputs of its steps, `judgments` its judgments; both ask `reuse::resolver` for what exists
//!   and `call::executor` for the rest. `step_outcome` is what becomes of a step.
//! - `context` is what all cells of a run share.
//!
//! Read `evaluate`, `steps`, `judgments`.

pub(crate) mod context;
pub(crate) mod evaluate;
pub(crate) mod judgments;
pub(crate) mod step_outcome;
pub(crate) mod steps;
