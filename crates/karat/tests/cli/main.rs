//! The binary, as its users run it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a test fails by panicking")]

mod agree;
mod bad_input;
mod bench;
mod briefing;
mod budgets;
mod calibration;
mod checks;
mod claims;
mod compare;
mod contracts;
mod costs;
mod dated;
mod docs;
mod estimates;
mod fairness;
mod faq;
mod faults;
mod flags;
mod gates;
mod help;
mod inspect;
mod interruption;
mod judges;
mod kill;
mod manual;
mod outside;
mod peers;
mod place;
mod privacy;
mod progress;
mod provider;
mod rag;
mod recording;
mod reuse;
mod scale;
mod smoke;
mod spans;
mod summary;
mod surgery;
mod together;
