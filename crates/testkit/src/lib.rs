//! Development only: a fake provider with faults (`fake/`), temporary directories (`scratch.rs`), a PostgreSQL
//! cluster (`postgres.rs`), timings compared with Python (`beside.rs`), and a day of a server in minutes (`soak/`). Tests and
//! benchmarks of all crates use it.
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
#[cfg(unix)]
mod postgres;
mod scratch;
#[cfg(unix)]
mod soak;

pub use beside::{Timing, time_in_python, time_work};
pub use fake::{
    BatchFaults, BatchStage, Behaviour, Condition, Echo, FakeBatches, FakeProvider, ReceivedRequest, RequestLog, Script,
};
#[cfg(unix)]
pub use postgres::{Postgres, postgres};
pub use scratch::{Scratch, scratch};
#[cfg(unix)]
pub use soak::{Soak, SoakCheck, SoakSummary};
