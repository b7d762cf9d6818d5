//! Tests of the program as its users run it: a folder for each kind of rule; `place` has the working directory.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a test fails by panicking")]

mod agents;
mod commands;
mod docs;
mod endings;
mod imports;
mod metrics;
mod place;
mod presets;
mod runs;
mod server;
mod shards;
mod suites;
