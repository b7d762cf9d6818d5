//! The data of pages about stored runs: plain values, without markup. A page costs work in proportion to what it shows,
//! not to the run, because filters and sorting act on an index.
//!
//! ```text
//! rows ─► index/ (numbers of all cells) ─► run_view ─► query (filter, sort) ─► cells, sample (texts of a page)
//! ```
//!
//! - `index/`: one number for each metric and cell of a run; read it first.
//! - `run_view`: an index with its run, and the cells that differ from an earlier run; `view_cache` has it from memory, from
//!   the store, or builds it in the background.
//! - `query`: filters and order of cells; `texts` reads outputs, scores and judgments of the shown ones.
//! - `cells`, `sample`, `cell`: what the pages of the same names show.
//! - `show/`: cells as commands show them.
//! - `runs`: the list of runs; `follow/`: the changes of a run while it runs. `patience` measures how long a reader waits.

pub(crate) mod cell;
pub(crate) mod cells;
pub(crate) mod follow;
pub(crate) mod index;
pub(crate) mod patience;
pub(crate) mod query;
pub(crate) mod run_view;
pub(crate) mod runs;
pub(crate) mod sample;
pub(crate) mod show;
pub(crate) mod texts;
pub(crate) mod view_cache;

use crate::App;

/// The data of pages about stored runs.
#[derive(Clone, Copy)]
pub struct Views<'a> {
    pub(crate) app: &'a App,
}

#[cfg(test)]
mod tests;
