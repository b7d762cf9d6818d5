//! Tests through the public API: suites in, plans and diagnostics out.

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod world;

mod broken;
mod cascades;
mod conversations;
mod dataset;
mod mistakes;
mod models;
mod named_models;
mod price_files;
mod rubrics;
mod short_form;
mod suites;
mod tools;
