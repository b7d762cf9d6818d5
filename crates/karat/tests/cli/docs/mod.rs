//! The documentation is true: its examples are valid, its commands run, its links resolve.
//!
//! - `blocks.rs` reads pages and their code blocks; all others use it.
//! - `examples.rs` validates each YAML example as the part of a suite that it is.
//! - `session.rs` runs a page: it writes the files, runs the commands and compares what they print.
//! - `tutorial.rs`, `readme.rs` run these pages; `metrics.rs` scores the examples of the metrics.
//! - `links.rs` checks links and the table of contents; `security.rs` the tests that the security review names.

mod blocks;
mod examples;
mod links;
mod metrics;
mod readme;
mod security;
mod session;
mod tutorial;
