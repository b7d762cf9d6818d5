//! The report of a stored run, as files or bytes.
//!
//! - `write` makes every format and gathers what stands beside the findings.
//! - `cells` writes the file of cells beside everything else, or keeps one that is still right.
//! - `manifest` lists what was written.
//!
//! Read `write` first; it calls both others.

pub(crate) mod cells;
pub(crate) mod manifest;
pub(crate) mod write;
