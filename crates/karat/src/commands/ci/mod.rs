//! Commands for CI: each has an exit code that fails a build.
//!
//! - `gate`: applies gates; also `karat baseline`
//! - `golden`: pins and checks golden sets
//! - `drift`: checks the history of a suite

pub mod drift;
pub mod gate;
pub mod golden;
