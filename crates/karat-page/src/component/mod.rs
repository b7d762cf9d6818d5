//! Components: what pages are built from beside blocks. Each takes plain data and returns markup.
//!
//! - `shell`: the document around a page, as one file or with loaded assets.
//! - `table`, `cards`: used by most others.
//! - `gates`, `metrics`, `ledger`: the parts of a run's page: gates; metrics and leaderboards; failures, cost, provenance.
//! - `live`: a run while it runs. `action`: a button that changes something on the server.
//! - `texts/`: excerpts, transcripts and marked parts of texts.
//! - `browse/`: lists that a server filters, sorts and pages, and cells read whole.
//! - `linked/`: a table with the charts that stand for its rows, and the panel of the chosen row.
//! - `state`: nothing to show, an error, something left out.

pub mod action;
pub mod browse;
pub mod cards;
pub mod gates;
pub mod ledger;
pub mod linked;
pub mod live;
pub mod metrics;
pub mod shell;
pub mod state;
pub mod table;
pub mod texts;

pub use linked::detail;
pub use texts::{excerpts, highlight, transcript};
