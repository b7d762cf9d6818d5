//! Parts that several pages share.
//!
//! - `address`: the addresses of runs, samples and cells.
//! - `figure`: metrics, money and times as text; `outputs`: outputs, scores and judgments of a system.
//! - `query` reads and writes the state of a page in its address.
//! - `notice`: what a reader should know of the state of a run.

pub(super) mod address;
pub(super) mod figure;
pub(super) mod notice;
pub(super) mod outputs;
pub(super) mod query;
