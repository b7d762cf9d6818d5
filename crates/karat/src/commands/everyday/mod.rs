//! Everyday commands, from a new suite to a comparison.
//!
//! - `init`: creates a suite
//! - `validate`: checks it
//! - `plan`: shows cost and work; `power` adds how many samples a difference takes
//! - `run`: runs it; `resume`, `retry` and `score` run parts of it again
//! - `report`: writes reports, also after a run
//! - `compare`: compares two runs

pub mod compare;
pub mod init;
pub mod plan;
pub mod power;
pub mod report;
pub mod run;
pub mod validate;
