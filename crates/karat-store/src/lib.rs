//! The store: everything durable of Karat, in one SQLite file or in PostgreSQL. No other crate uses SQL.
//!
//! `store.rs` opens the file; start there. `write/` is the write path: a [`Ledger`] appends the records of one run,
//! and [`Ledger::append`] returns when they are on disk. `read/` answers queries about runs: rows in plan order
//! ([`StoredRun`]), finished cells ([`FinishedCells`]), paid calls ([`PaidCalls`]), money ([`Spending`]). `reuse/`
//! finds results by content key for later runs, and invalidates them. `block/` holds the compressed bytes that one
//! commit writes, `format/` the byte formats of records, and `database/` the tables, file locks and the state folder.
//! `batches.rs` keeps calls that go by a provider's batch API. `server/` keeps what the server
//! needs: tokens, its queue, answers to repeated requests, due times, incidents, messages,
//! and work for people. `sql/` is the seam between all of these and the two databases. `url.rs` parses store
//! addresses, `error.rs` has the errors.
//!
//! `docs/design/0001-store-layout.md` explains the layout of the file, `0151-two-stores.md` the seam.

mod batches;
mod block;
mod database;
mod error;
mod format;
mod read;
mod reuse;
mod server;
mod sql;
mod store;
mod url;
mod write;

#[cfg(test)]
mod tests;

pub use crate::batches::{
    BatchAnswer, BatchItem, BatchItemState, BatchLineEnd, BatchState, CollectedCall, StoredBatch,
};

pub use crate::block::call_log::Reservation;
pub use crate::database::space::free_bytes;
pub use crate::database::store_lease::{ResultLease, StoreLease};
pub use crate::error::{LedgerError, StoreError};
pub use crate::format::StoredForm;
pub use crate::read::account::{Account, PaidCalls, Spending};
pub use crate::read::check::{RunCheck, StoreCheck};
pub use crate::read::derived::DerivedData;
pub use crate::read::finished::{DamagedRows, FinishedCells, JudgedCells, OrdinalSet};
pub use crate::read::follow::{FollowPosition, ROWS_OF_COMMIT, RunChange};
pub use crate::read::lookup::{StoredCall, StoredRecord};
pub use crate::read::rows::StoredRun;
pub use crate::read::runs::RunSummary;
pub use crate::read::stops::OtherStop;
pub use crate::read::totals::Totals;
pub use crate::reuse::blobs::StoredBlob;
pub use crate::reuse::invalidate::{CachedResults, Withdraw};
pub use crate::reuse::paid_elsewhere::PaidElsewhere;
pub use crate::reuse::prune::PruneResult;
pub use crate::reuse::reuse_view::ReuseView;
pub use crate::reuse::shared_results::{InvalidatedResults, ReusableResult};
pub use crate::server::annotation::change::AnnotationChange;
pub use crate::server::annotation::tasks::{
    AnnotationEvent, NewAnnotationTask, NewStoredItem, StoredAnnotationItem, StoredAnnotationTask,
};
pub use crate::server::answers::KeptAnswer;
pub use crate::server::firings::StoredFiring;
pub use crate::server::incidents::{RunOutcome, StoredIncident};
pub use crate::server::outbox::StoredMessage;
pub use crate::server::pages::ListPlace;
pub use crate::server::queue::{NewQueuedRun, QueueState, QueuedRun, Queueing};
pub use crate::server::tokens::StoredToken;
pub use crate::sql::{Patience, SqlError};
pub use crate::store::Store;
pub use crate::url::{NetworkFiles, StoreUrl};
pub use crate::write::journal::JournalEntry;
pub use crate::write::ledger::{Ledger, Receipt};
pub use crate::write::merge::ShardSource;
pub use crate::write::writer::{WriteFailed, WriteGuard};
