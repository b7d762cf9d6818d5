//! Commands that read stored runs.
//!
//! - `ls`: lists runs
//! - `show`: shows cells or rows
//! - `why`: explains reuse
//! - `trace`: shows calls
//! - `digest`: summarizes days

pub mod digest;
pub mod ls;
pub mod show;
pub mod trace;
pub mod why;
