//! A soak of `karat serve`: a day of schedules, alerts, traces and readers in minutes, with faults.
//!
//! The server is the real program in a process of its own. Its clock is set by a file (`KARAT_TEST_CLOCK`), which builds
//! with debug assertions follow: each step takes it five minutes further, shortly behind the next due times. Calls,
//! messages, disk and kills are real.
//!
//! - `day.rs` runs the steps. Read it first.
//! - `faults.rs` says which faults come when, by a seed; `callers.rs` starts runs and sends traces.
//! - `world.rs` is the folder with the suites, its clock and its small disk; `suites.rs` their text.
//! - `network.rs` is the provider of models and the receiver of alerts; both can fail, and keep a log.
//! - `server.rs` is the process; `reader.rs` reads its pages meanwhile; `resources.rs` is what it uses.
//! - `checks/` finds faults afterwards, and `summary.rs` is the table.

mod callers;
mod checks;
mod day;
mod faults;
mod network;
mod reader;
mod resources;
mod server;
mod suites;
mod summary;
mod world;

use std::path::PathBuf;
use std::time::Duration;

pub use summary::{SoakCheck, SoakSummary};

/// A soak.
#[derive(Debug, Clone)]
pub struct Soak {
    /// The `karat` program, built with debug assertions.
    pub program: PathBuf,
    /// Hours of the service. Up to five, there are fewer faults, and the jumps of the clock are smaller.
    pub hours: u32,
    /// Seed of the faults and of their moments.
    pub seed: u64,
    /// Real time of a step of five minutes. Less than the server's second between two looks at its schedules makes due
    /// times late.
    pub step: Duration,
    /// Runs that are compared with undisturbed ones.
    pub compared: usize,
}

impl Soak {
    /// Runs it to its end.
    ///
    /// # Errors
    /// The soak itself cannot go on: a program that does not start, a folder that cannot be written. Faults of Karat are no
    /// errors; the summary has them.
    pub fn run(&self) -> Result<SoakSummary, String> {
        checks::check(self, &day::run(self)?)
    }
}

/// The context of an error of the soak itself.
pub(crate) fn error_of<E: std::fmt::Display>(doing: &str) -> impl Fn(E) -> String + '_ {
    move |error| format!("{doing}: {error}")
}
