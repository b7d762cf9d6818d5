//! Checks of the workspace's own structure. Most run as tests; some are commands, too.
//!
//! - `crate_graph`: crates depend on lower layers only; libraries pull in no network stack.
//! - `invariants`: comments cite the invariants that there are.
//! - `module_cycles`: no modules of a crate depend on each other in a cycle.
//! - `plain_language`: names, doc comments and folders stay within limits.
//! - `requirements`: every requirement has a test.
//! - `size`: lines of code and files by crate.

mod crate_graph;
mod invariants;
pub mod module_cycles;
pub mod plain_language;
pub mod requirements;
pub mod size;
