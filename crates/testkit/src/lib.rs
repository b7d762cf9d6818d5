//! Development only: a fake provider with faults, and scratch directories.
//!
//! ```
//! use testkit::{Behaviour, FakeProvider, Script};
//!
//! let provider = FakeProvider::start(Script::sequence([Behaviour::server_error(), Behaviour::ok("hello")]))?;
//! assert!(provider.base_url().starts_with("http://127.0.0.1:"));
//! assert_eq!(provider.requests(), 0);
//! # Ok::<(), std::io::Error>(())
//! ```

mod fake;
mod scratch;

pub use fake::{Behaviour, Echo, FakeProvider, Memory, Received, Script};
pub use scratch::{Scratch, scratch};
