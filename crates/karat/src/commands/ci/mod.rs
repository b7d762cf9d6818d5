//! Commands for CI. All but `ci` have an exit code that fails a build.
//!
//! - `workflow`: writes the workflow of a CI service
//! - `gate`: applies gates; also `karat baseline`
//! - `golden`: pins and checks golden sets
//! - `drift`: checks the history of a suite

pub mod drift;
pub mod gate;
pub mod golden;
pub mod workflow;
