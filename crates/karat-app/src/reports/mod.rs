//! The report of a stored run, as files or bytes.
//!
//! - `write` makes every format and gathers what stands beside the findings.
//! - `cells` writes the file of cells beside everything else, or keeps one that is still right.
//! - `page` builds the page of a run for the dashboard, and finds the days of a dated suite.
//! - `kept_reports` are reports of large runs, which the store keeps.
//! - `manifest` lists what was written.
//! - `export/` writes runs in formats of other tools.
//!
//! Read `write` first; it calls the others.

pub(crate) mod cells;
pub(crate) mod export;
pub(crate) mod kept_reports;
pub(crate) mod manifest;
pub(crate) mod page;
pub(crate) mod write;

use crate::App;

/// Reports of stored runs, and exports to other formats.
#[derive(Clone, Copy)]
pub struct Reports<'a> {
    pub(crate) app: &'a App,
}
