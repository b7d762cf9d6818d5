//! Error rates, savings and coverage by simulation, seeded.
//!
//! The normal tests are small. The full tables take minutes and are printed by
//! `cargo test -p karat-stats --release --test simulations -- --ignored --nocapture --test-threads 2`; their figures are in
//! `docs/explanations/statistics.md`.
//!
//! | file | task |
//! |---|---|
//! | `cascade` | judge cascades |
//! | `clusters` | clustered means, rates and changes |
//! | `designs` | weighted draws, and labels by design |
//! | `draw` | random scores and datasets |
//! | `early` | early stopping: wrong verdicts and saved calls |
//! | `looks` | repeated looks at a growing test set |
//! | `race` | races of systems |
//! | `shares` | shares near 1 |
//! | `ties` | scores and changes of which few vary |

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and a simulation prints its table"
)]

mod cascade;
mod clusters;
mod designs;
mod draw;
mod early;
mod looks;
mod race;
mod shares;
mod ties;
