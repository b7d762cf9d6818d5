//! Fuzz targets: each feeds arbitrary bytes to one entry point of the product and checks rules that hold for every input.
//!
//! - `text/`: texts of users and models: templates, replies, numbers, metrics
//! - `files/`: files: suites, rows, files of other tools, bytes of the store
//! - `wire/`: the network: requests to the server, replies of providers, OpenTelemetry
//! - `catalog`, `memory`: what several of them need
//!
//! `fuzz_targets/` has a binary for each; `scripts/fuzz` builds and runs them.

#[cfg(feature = "whole")]
pub mod catalog;
pub mod files;
pub mod memory;
pub mod text;
pub mod wire;
