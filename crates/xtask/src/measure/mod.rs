//! Measurements on release binaries, too long for the tests.
//!
//! - `bench` compares Karat with the smallest possible client; `soak` runs test scenarios at full size.
//! - `postgres` compares a store in PostgreSQL with one in a file.
//! - `aa_study` (a soak) checks the error rates of comparisons; `process` runs a binary and measures it.

mod aa_study;
pub mod bench;
pub mod postgres;
mod process;
pub mod soak;
