//! Grades over time: the history of a suite, and pinned grades that today's are compared with.
//!
//! `history` decides which grade of a sample counts. `golden` compares a run
//! with a golden set and calls `canary` to test whether the judge itself shifted; `people_golden` makes one of people's labels. `pinned/` reads a baseline: a pinned run, a report or a golden set.

pub mod canary;
pub mod golden;
pub(crate) mod history;
pub mod people_golden;
pub(crate) mod pinned;
