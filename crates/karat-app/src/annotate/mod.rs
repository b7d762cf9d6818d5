//! Human annotation: tasks in the store, their queue for several people, and what becomes of the labels (HU).
//!
//! Read `task` (what is fixed) and `state` (the fold of what people did) first.
//!
//! - `create` makes a task: `selection` chooses its items, `question` has its questions.
//! - `queue` hands out items, so that each gets labels of enough different people; `answers` checks what they submit.
//!   `submit` stores labels, skips, flags and what they take back, and the owner's decisions.
//! - `settle` makes one value of several labels. `agreement` says how far people agree.
//! - `owner` is everything that the owner sees; `export` writes labels. `people` invites them, and compares each with the
//!   others.
//!
//! Blindness (HU-05): only `queue` makes what people see. It names an item by a keyed hash, and takes nothing of an item
//! but its texts.

mod agreement;
mod answers;
pub(crate) mod create;
pub(crate) mod export;
pub(crate) mod owner;
pub(crate) mod people;
mod question;
pub(crate) mod queue;
mod selection;
mod settle;
mod state;
pub(crate) mod submit;
pub(crate) mod task;
