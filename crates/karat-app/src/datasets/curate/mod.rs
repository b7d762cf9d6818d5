//! Sets that are made from other sets, and leaks between sets.
//!
//! - `sample`, `dedup`, `split`: one command each; they read the rows twice or more, and write them by `output`, which also
//!   removes the files of a split that another one replaces
//! - `leaks` looks test rows up in the texts of a suite (`suite_texts`) or in another corpus
//! - `suite_warnings`: what `validate` and `plan` say of a suite's own rows

pub(crate) mod dedup;
pub(crate) mod leaks;
pub(crate) mod output;
pub(crate) mod sample;
pub(crate) mod split;
mod suite_texts;
pub(crate) mod suite_warnings;
