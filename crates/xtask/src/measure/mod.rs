//! Measurements on release binaries, too long for the tests.
//!
//! - `bench` compares Karat with the smallest possible client; `shards` measures shards and their merging; `postgres`
//!   compares a store in PostgreSQL with one in a file; `soak` runs test scenarios at full size.
//! - `aa_study` (a soak) checks the error rates of comparisons; `process` runs a binary and measures it.

mod aa_study;
pub mod bench;
pub mod postgres;
mod process;
pub mod shards;
pub mod soak;
