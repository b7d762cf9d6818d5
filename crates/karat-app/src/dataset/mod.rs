//! Test sets that can be trusted, from rows of files, suites, traces and runs (BC).
//!
//! - `source` reads the rows; everything else here begins with it

pub(crate) mod source;
