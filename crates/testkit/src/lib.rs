//! Development only: a fake provider with faults, scratch directories, and times beside those of Python.
//!
//! ```
//! use testkit::{Behaviour, FakeProvider, Script};
//!
//! let provider = FakeProvider::start(Script::sequence([Behaviour::server_error(), Behaviour::ok("hello")]))?;
//! assert!(provider.base_url().starts_with("http://127.0.0.1:"));
//! assert_eq!(provider.requests(), 0);
//! # Ok::<(), std::io::Error>(())
//! ```

mod beside;
mod fake;
mod scratch;

pub use beside::{Timed, timed, timed_in_python};
pub use fake::{Behaviour, Echo, FakeProvider, Memory, Received, Script};
pub use scratch::{Scratch, scratch};
