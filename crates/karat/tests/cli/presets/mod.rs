//! The shipped presets, each offline with its own data.

mod agent;
mod briefing;
mod claims;
mod claims_manual;
mod claims_smoke;
mod faq;
mod pages;
mod rag;
mod spans;
mod summary;
