//! Human annotation: tasks in the store, their queue for several people, and what becomes of the labels (HU).
//!
//! Read `task` (what is fixed) and `state` (the fold of what people did) first.
//!
//! - `create` makes a task: `selection` chooses its items, `question` has its questions.
//! - `queue` hands out items, so that each gets labels of enough different people; `answers` checks what they submit.
//!   `submit` stores labels, skips, flags and what they take back, and the owner's decisions.
//! - `results` makes one value of several labels, says how far people agree, and hands labels to files, golden sets and
//!   figures.
//! - `owner` is everything that the owner sees. `people` invites them, and compares each with the others.
//!
//! Blindness: only `queue` makes what people see. It names an item by a keyed hash, and takes nothing of an item
//! but its texts.

mod answers;
pub(crate) mod create;
pub(crate) mod owner;
pub(crate) mod people;
pub(crate) mod question;
pub(crate) mod queue;
pub(crate) mod results;
mod selection;
mod state;
pub(crate) mod submit;
pub(crate) mod task;
