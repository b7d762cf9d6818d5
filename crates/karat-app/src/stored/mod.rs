//! The store of results, and a stored run, opened.
//!
//! - `names` resolves the names of runs, suites and cells; `run` opens a run.
//! - `invocation` is what a run remembers of its start.
//! - `findings` analyses a run, with its pinned baseline and the earlier runs on the same samples.
//! - `references` are what the gates of a run compare with.
//! - `figures` are the verdict and the headline of a run, which the store keeps; `kept_pages` stay in memory.
//! - `labels/` is what people said of outputs.
//! - `messages` reads requests, replies and what judges say.
//! - `unbilled_risk` warns of cost that no row tells.
//! - `invalidate` takes results out of reuse; `store_check` reads all of the store and reports damage.

pub(crate) mod figures;
pub(crate) mod findings;
pub(crate) mod invalidate;
pub(crate) mod invocation;
pub(crate) mod kept_pages;
pub(crate) mod labels;
pub(crate) mod messages;
pub(crate) mod names;
pub(crate) mod references;
pub(crate) mod run;
pub(crate) mod store_check;
pub(crate) mod unbilled_risk;

use crate::App;

/// Stored runs, and the store that has them.
#[derive(Clone, Copy)]
pub struct Stored<'a> {
    pub(crate) app: &'a App,
}
