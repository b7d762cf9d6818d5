//! Runs in shards, through the binary.
//!
//! - `merging`: the shards of a run on their own, killed and resumed, and what is refused.
//! - `recipes`: the script and the command lines below `deploy/`.

mod merging;
mod recipes;
