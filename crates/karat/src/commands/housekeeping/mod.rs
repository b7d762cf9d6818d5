//! Commands for the store, the environment and the program itself.
//!
//! - `models`: lists models
//! - `invalidate`: invalidates results of a run
//! - `cache`: lists and prunes results
//! - `store`: checks the store
//! - `doctor`: checks the environment
//! - `demo`: serves a demo
//! - `schema`: prints schemas and references
//! - `completions`: prints completions, writes man pages

pub mod cache;
pub mod completions;
pub mod demo;
pub mod doctor;
pub mod invalidate;
pub mod models;
pub mod schema;
pub mod store;
