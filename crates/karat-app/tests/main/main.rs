//! The use cases with everything from outside in the test's hands.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::float_cmp,
    reason = "a test fails by panicking"
)]

mod annotate;
mod cascade;
mod clock;
mod datasets;
mod exports;
mod journal;
mod opened;
mod place;
mod prices;
mod ready_rubrics;
mod schema;
mod series;
mod service;
mod shards;
mod stored;
mod test_sets;
