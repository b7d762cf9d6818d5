//! Test sets that can be trusted, from rows of files, suites, traces and runs (BC).
//!
//! - `source` reads the rows, and finds those that repeat each other; everything else here begins with it
//! - `curate/` makes sets from other sets, and finds leaks
//! - `versions` hashes rows and records their changes, in the file of `manifest_file`; `difference` compares two sets
//! - `removal` leaves items out; `datasheet` describes a set

pub(crate) mod curate;
pub(crate) mod datasheet;
pub(crate) mod difference;
pub(crate) mod manifest_file;
pub(crate) mod removal;
pub(crate) mod source;
pub(crate) mod versions;

use crate::App;

/// Test sets from rows of files, suites, traces and runs.
#[derive(Clone, Copy)]
pub struct Datasets<'a> {
    pub(crate) app: &'a App,
}
