//! The report of a stored run, as files or bytes.
//!
//! - `write` makes every format and gathers what stands beside the findings.
//! - `cells` writes the file of cells beside everything else, or keeps one that is still right.
//! - `page` builds the page of a run for the dashboard, and finds the days of a dated suite.
//! - `manifest` lists what was written.
//!
//! Read `write` first; it calls the others.

pub(crate) mod cells;
pub(crate) mod manifest;
pub(crate) mod page;
pub(crate) mod write;
