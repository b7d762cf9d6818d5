//! Work for people, and what they did.
//!
//! - `tasks`: a task with its items is written once and never changes; a change is a new version. Read it first.
//! - `change`: one transaction on a task: it reads what happened so far and adds events. What people did is an event, and
//!   no event is changed or removed; the present state is their fold, which the application computes. Leases and drafts
//!   are replaced, because no figure rests on them.

pub(crate) mod change;
pub(crate) mod tasks;
#[cfg(test)]
pub(crate) mod tests;
