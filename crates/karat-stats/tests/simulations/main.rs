//! Error rates, savings and coverage by simulation, seeded.
//!
//! The normal tests are small. The full tables take minutes and are printed by
//! `cargo test -p karat-stats --release --test simulations -- --ignored --nocapture --test-threads 2`; their figures are in
//! `docs/explanations/statistics.md`.
//!
//! | file | task |
//! |---|---|
//! | `cascade` | judge cascades |
//! | `draw` | random scores and datasets |
//! | `early` | early stopping: wrong verdicts and saved calls |
//! | `race` | races of systems |

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and a simulation prints its table"
)]

mod cascade;
mod draw;
mod early;
mod race;
