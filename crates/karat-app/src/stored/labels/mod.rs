//! Labels of people: tasks as the store has them, and what their labels come to.
//!
//! - `task` is what is fixed, with its questions from `question`; `state` is the fold of what people did.
//! - `answers` checks what they submit against the questions.
//! - `settle` makes one value of several labels; `agreement` says how far people agree. Rows of labels are made in `settle`.
//! - `anchoring` hands the labels of closed tasks to the figures of runs.

pub(crate) mod agreement;
pub(crate) mod anchoring;
pub(crate) mod answers;
pub(crate) mod question;
pub(crate) mod settle;
pub(crate) mod state;
pub(crate) mod task;
