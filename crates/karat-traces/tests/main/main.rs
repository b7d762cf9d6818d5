//! Requests of every convention, read into rows.

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod dialects;
mod folder;
mod requests;
