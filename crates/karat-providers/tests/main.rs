//! The providers against a fake server that behaves in every way a real one has been seen to.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on must stop")]

mod bench;
mod billing;
mod booked;
mod connecting;
mod conversations;
mod faults;
mod key_command;
mod offline;
mod proxies;
mod refused_settings;
mod secrets;
mod services;
mod wire;
