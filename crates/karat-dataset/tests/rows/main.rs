//! The promises of the crate, measured on planted texts.
//!
//! - `texts.rs` makes them; `duplicates.rs` (BC-03), `split.rs` (BC-04), `leaks.rs` (BC-05) and `sample.rs` (BC-01, BC-02)
//!   measure

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod duplicates;
mod leaks;
mod sample;
mod split;
mod texts;
