//! Everything durable, behind one type; the only crate that knows SQL.
//!
//! A run writes through a [`Ledger`]: [`Ledger::append`] returns when its records are on disk, many appends share one
//! commit, and a crash loses nothing that was acknowledged. A [`Store`] reads: runs by name, rows in plan order
//! ([`StoredRun`]), outputs and judgments by content key for reuse across runs, and what a resumed run must know
//! ([`Finished`], [`PaidCalls`], [`Spending`]).
//!
//! How rows lie in the file and why is told in `docs/design/0001-store-layout.md`.

mod account;
mod cache;
mod calllog;
mod claim;
mod company;
mod encode;
mod error;
mod filter;
mod finished;
mod folder;
mod format;
mod indexing;
mod journal;
mod known;
mod ledger;
mod lock;
mod lookup;
mod pack;
mod paid;
mod prune;
mod reuse;
mod rows;
mod runs;
mod schema;
mod section;
mod sharing;
mod stock;
mod store;
mod totals;
mod url;
mod withdraw;
mod writer;

#[cfg(test)]
mod tests;

pub use account::{Account, PaidCalls, Spending};
pub use calllog::Reservation;
pub use company::{Company, Lease};
pub use error::{LedgerError, StoreError};
pub use finished::{Finished, Judged, OrdinalSet};
pub use journal::JournalEntry;
pub use ledger::{Ledger, Receipt};
pub use lookup::Stored;
pub use prune::Pruned;
pub use rows::StoredRun;
pub use runs::RunSummary;
pub use sharing::{Reusable, Withdrawal};
pub use stock::Stock;
pub use store::Store;
pub use totals::Totals;
pub use url::StoreUrl;
pub use withdraw::Cached;
pub use writer::{Hold, Unwritten};
