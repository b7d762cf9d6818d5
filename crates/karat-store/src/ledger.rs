//! The append side: what a run does becomes durable here before anything follows from it.

use std::sync::{Arc, OnceLock};

use karat_types::{Moment, Record, RunHeader, RunStatus};
use rusqlite::{ErrorCode, OptionalExtension, params};
use tokio::sync::oneshot;

use crate::claim::Claim;
use crate::encode::sql_number;
use crate::error::Attempt;
use crate::format::{pack_header, run_status_code};
use crate::writer::{self, Batch, Hold, OpenRun, Unwritten, Work};
use crate::{LedgerError, Store, StoreError};

/// The right to write one run, and the way to do it.
///
/// Cheap to clone; clones write the same run. As long as one is alive, no other process can write the run.
#[derive(Debug, Clone)]
pub struct Ledger {
    run: Arc<OpenRun>,
    store: Store,
}

impl Store {
    /// Writes the first row of a new run.
    ///
    /// # Errors
    /// [`StoreError::RunExists`], and whatever keeps the row from being written.
    pub fn begin(&self, header: &RunHeader) -> Result<Ledger, StoreError> {
        let attempt = Attempt { path: self.path(), doing: "beginning a run" };
        let claim = self.claim(&header.id)?;
        let facts = pack_header(header)?;
        let planned = sql_number("a plan", header.plan.cells())?;
        let connection = self.writing();
        let transaction = writer::begin(&connection, attempt)?;
        transaction
            .execute(
                "insert into runs (name, suite, plan_hash, status, started_at, completed_at, planned, pid, header)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    header.id,
                    header.plan.suite,
                    header.plan.plan_hash.0,
                    run_status_code(header.status),
                    header.started_at.0,
                    header.completed_at.map(|moment| moment.0),
                    planned,
                    i64::from(std::process::id()),
                    facts
                ],
            )
            .map_err(|error| match error.sqlite_error_code() {
                Some(ErrorCode::ConstraintViolation) => StoreError::RunExists(header.id.clone()),
                _ => attempt.failed(error),
            })?;
        let id = transaction.last_insert_rowid();
        transaction.commit().map_err(|error| attempt.failed(error))?;
        Ok(self.ledger(id, &header.id, claim))
    }

    /// Goes on with a run: it is *running* again. Its plan stays as it was.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; [`StoreError::RunInUse`] while another process, or another ledger of this one,
    /// writes it; and whatever keeps its row from being written.
    pub fn reopen(&self, run: &str) -> Result<Ledger, StoreError> {
        let attempt = Attempt { path: self.path(), doing: "reopening a run" };
        let claim = self.claim(run)?;
        let connection = self.writing();
        let transaction = writer::begin(&connection, attempt)?;
        let id = transaction
            .query_row(
                "update runs set status = ?2, completed_at = null, totals = null, pid = ?3 where name = ?1 returning id",
                params![run, run_status_code(RunStatus::Running), i64::from(std::process::id())],
                |row| row.get(0),
            )
            .optional()
            .map_err(|error| attempt.failed(error))?;
        let Some(id) = id else {
            drop(transaction);
            drop(connection);
            return Err(self.no_such_run(run));
        };
        transaction.commit().map_err(|error| attempt.failed(error))?;
        Ok(self.ledger(id, run, claim))
    }

    pub(crate) fn claim(&self, run: &str) -> Result<Claim, StoreError> {
        match Claim::take(self.path(), run) {
            Ok(Some(claim)) => Ok(claim),
            Ok(None) => Err(StoreError::RunInUse { run: run.to_owned(), pid: self.writer_of(run) }),
            Err(error) => Err(StoreError::Open { path: self.path().to_owned(), why: error.to_string() }),
        }
    }

    fn ledger(&self, id: i64, name: &str, claim: Claim) -> Ledger {
        let run = OpenRun { id, name: name.to_owned(), failed: OnceLock::new(), _claim: claim };
        Ledger { run: Arc::new(run), store: self.clone() }
    }
}

impl Ledger {
    /// The run's id.
    pub fn run(&self) -> &str {
        &self.run.name
    }

    /// The store that it writes to.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Writes records, all or none, behind those of earlier appends of this task. Returns when they are on disk, and
    /// waits while too many appends wait already.
    ///
    /// Dropped before it returns, the records may or may not be written.
    ///
    /// # Errors
    /// After a failed commit every append of this ledger fails, because what follows an unwritten record must not be
    /// written either: stop the run, and resume it once the cause is gone.
    pub async fn append(&self, records: Vec<Record>) -> Result<(), LedgerError> {
        if records.is_empty() {
            return Ok(());
        }
        let work = Work::Append(self.store.0.used.encoded(&records)?);
        // Large answers would stay in memory twice.
        drop(records);
        self.hand_over(work, None).await.map_err(|unwritten| unwritten.error)?.on_disk().await
    }

    /// As [`Ledger::append`], and lets go of something as soon as the records are on disk, before this returns.
    ///
    /// # Errors
    /// As [`Ledger::append`], with what was to be held.
    pub async fn append_holding(&self, records: Vec<Record>, hold: Hold) -> Result<(), Unwritten> {
        let encoded = self.store.0.used.encoded(&records);
        drop(records);
        match encoded {
            Ok(encoded) => self.hand_over(Work::Append(encoded), Some(hold)).await?.written().await,
            Err(error) => Err(Unwritten { error: error.into(), hold: Some(hold) }),
        }
    }

    /// As [`Ledger::append`], for records that nobody needs to be on disk at once: they are written with the next records
    /// that somebody waits for, once many of them have come together, or when [`Ledger::flush`] asks for it. A commit
    /// costs nearly the same for one record as for a hundred.
    ///
    /// # Errors
    /// As [`Ledger::append`]; what goes wrong later the receipt says.
    pub async fn append_later(&self, records: Vec<Record>) -> Result<Receipt, LedgerError> {
        self.append_later_holding(records, None).await
    }

    /// As [`Ledger::append_later`], and lets go of something as soon as the records are on disk, or cannot be written.
    ///
    /// # Errors
    /// As [`Ledger::append_later`].
    pub async fn append_later_holding(&self, records: Vec<Record>, hold: Option<Hold>) -> Result<Receipt, LedgerError> {
        let work = Work::Append(self.store.0.used.encoded(&records)?);
        let (batch, receipt) = self.batch(work, hold).map_err(|unwritten| unwritten.error)?;
        if self.store.0.put_off(batch) {
            self.flush().await?;
        }
        Ok(receipt)
    }

    /// Has everything written that was put off, without waiting until it is.
    ///
    /// # Errors
    /// As [`Ledger::append`].
    pub async fn flush(&self) -> Result<(), LedgerError> {
        Ok(self.store.0.hand_over(None).await?)
    }

    /// Writes how the run ended, behind everything appended before.
    ///
    /// # Errors
    /// As [`Ledger::append`].
    pub async fn finish(&self, status: RunStatus, at: Moment) -> Result<(), LedgerError> {
        self.hand_over(Work::Finish { status, at }, None).await.map_err(|unwritten| unwritten.error)?.on_disk().await
    }

    async fn hand_over(&self, work: Work, hold: Option<Hold>) -> Result<Receipt, Unwritten> {
        let (batch, receipt) = self.batch(work, hold)?;
        self.store.0.hand_over(Some(batch)).await.map_err(LedgerError::from)?;
        Ok(receipt)
    }

    fn batch(&self, work: Work, hold: Option<Hold>) -> Result<(Batch, Receipt), Unwritten> {
        if let Some(why) = self.run.failed.get() {
            return Err(Unwritten { error: why.clone(), hold });
        }
        let (done, outcome) = oneshot::channel();
        Ok((Batch { run: Arc::clone(&self.run), work, hold, done }, Receipt(outcome)))
    }
}

/// What became of records that were handed over.
#[derive(Debug)]
pub struct Receipt(oneshot::Receiver<Result<(), Unwritten>>);

impl Receipt {
    /// Returns when the records are on disk.
    ///
    /// # Errors
    /// They were not written.
    pub async fn on_disk(self) -> Result<(), LedgerError> {
        self.written().await.map_err(|unwritten| unwritten.error)
    }

    async fn written(self) -> Result<(), Unwritten> {
        self.0.await.map_err(|_| LedgerError::from(StoreError::Closed))?
    }
}
