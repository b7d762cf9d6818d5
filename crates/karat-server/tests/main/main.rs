//! The server as its callers see it: requests and answers, without a network.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::float_cmp,
    reason = "a test fails by panicking"
)]

mod access;
mod events;
mod live;
mod measure;
mod pages;
mod place;
mod problems;
mod queue;
mod runs;
mod series;
mod service;
mod starts;
mod suite;
