//! Human annotation: tasks in the store, their queue for several people, and what becomes of the labels (HU).
//!
//! Read `stored::labels` (what is fixed, and the fold of what people did) first.
//!
//! - `create` makes a task: `selection` chooses its items.
//! - `queue` hands out items, so that each gets labels of enough different people. `submit` stores labels, skips, flags and
//!   what they take back, and the owner's decisions.
//! - `export` writes labels to files, `golden` pins them.
//! - `owner` is everything that the owner sees. `people` are their names.
//! - `label_files` exports outputs to label in a file, and joins the labels.
//!
//! Blindness: only `queue` makes what people see. It names an item by a keyed hash, and takes nothing of an item
//! but its texts.

pub(crate) mod create;
pub(crate) mod export;
pub(crate) mod golden;
pub(crate) mod label_files;
pub(crate) mod owner;
pub(crate) mod people;
pub(crate) mod queue;
mod selection;
pub(crate) mod submit;

use crate::App;

/// Tasks for people, and what becomes of their labels.
#[derive(Clone, Copy)]
pub struct Tasks<'a> {
    pub(crate) app: &'a App,
}
