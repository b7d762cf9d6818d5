//! Suites and presets, from their files to a plan.
//!
//! - `invocation` is a suite with every change that the command line asks for; `load` makes a plan of it.
//! - `presets/` holds the built-in suites, and the small ones for a task.
//! - `catalog` lists metrics, analyses, ready rubrics and the known models for the suite crate.
//! - `gate_rules` checks the gates of a suite, and changes them by flags.
//! - `fetch` gets the files that a dataset wants; `version_changes` finds content that changed under an unchanged version.
//! - `ci` writes the workflow that runs a suite in CI.
//! - `root` keeps a server to the files below its root; `threads` checks that threads can be started.
//! - `design` checks the draw behind the rows.
//! - `request` reads the request for a run.
//! - `atomic_file` replaces files as a whole.
//!
//! Read `invocation`, then `load`.

pub(crate) mod atomic_file;
pub(crate) mod catalog;
pub(crate) mod ci;
mod design;
pub(crate) mod fetch;
pub(crate) mod gate_rules;
pub(crate) mod invocation;
pub(crate) mod load;
pub(crate) mod presets;
pub(crate) mod request;
pub(crate) mod root;
pub(crate) mod threads;
pub(crate) mod version_changes;

use crate::App;

/// The folder that a user works in: suites, presets, their plan.
#[derive(Clone, Copy)]
pub struct Project<'a> {
    pub(crate) app: &'a App,
}
