//! The store of results, and a stored run, opened.
//!
//! - `invocation` is what a run remembers of its start, `recording` the file that has its calls.
//! - `findings` analyses a run, with its pinned baseline and the earlier runs on the same samples (`looks`).
//! - `figures` are the verdict and the headline of a run, which the store keeps; `kept_pages` stay in memory.
//! - `labels/` is what people said of outputs.
//! - `runs` lists runs, `address` resolves the names of cells, `messages` reads requests and replies.
//! - `unbilled_risk` warns of cost that no row tells.
//! - `invalidate` takes results out of reuse; `store_check` reads all of the store and reports damage.

pub(crate) mod address;
pub(crate) mod figures;
pub(crate) mod findings;
pub(crate) mod invalidate;
pub(crate) mod invocation;
pub(crate) mod kept_pages;
pub(crate) mod labels;
mod looks;
pub(crate) mod messages;
pub(crate) mod recording;
pub(crate) mod runs;
pub(crate) mod store_check;
pub(crate) mod unbilled_risk;
