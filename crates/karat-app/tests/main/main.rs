//! The use cases with everything from outside in the test's hands.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::float_cmp,
    reason = "a test fails by panicking"
)]

mod annotate;
mod clock;
mod datasets;
mod exports;
mod journal;
mod opened;
mod place;
mod series;
mod service;
mod shards;
mod stored;
mod suites;
