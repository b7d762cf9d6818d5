//! The append side of the store. The results of a run are durable here before anything uses them.

use std::sync::{Arc, OnceLock};

use crate::sql::postgres::claims::{ServerClaim, is_claimed};
use karat_types::{Moment, Record, RunHeader, RunStatus};
use tokio::sync::oneshot;

use crate::database::run_claim::RunClaim;
use crate::database::run_lock::{RunLock, is_locked_run};
use crate::database::transaction;
use crate::error::{Attempt, ReadFailure};
use crate::format::encode::to_sql_integer;
use crate::format::{pack_header, run_status_code};
use crate::sql::tables::RUNS;
use crate::sql::{Connection, SqlResult, StoredRow, params};
use crate::write::writer::{Batch, OpenRun, Work, WriteFailed, WriteGuard};
use crate::{LedgerError, Store, StoreError};

/// The right to write one run, and the handle for doing so.
///
/// Cheap to clone; clones write the same run. While one is alive, no other process can write the run.
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
        let attempt = Attempt { path: self.path(), doing: "starting a run" };
        let claim = self.claim_with_room(&header.id)?;
        let facts = pack_header(header)?;
        let planned = to_sql_integer("a plan", header.planned_cells())?;
        let connection = self.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        let completed_at = header.completed_at.map(|moment| moment.0);
        let insert = || {
            let id = RUNS.next_number(&transaction)?;
            let (plan, pid) = (&header.plan, i64::from(std::process::id()));
            let (status, started_at, none) = (run_status_code(header.status), header.started_at.0, None::<&[u8]>);
            let values = params![
                id,
                header.id,
                plan.suite,
                plan.plan_hash.0,
                status,
                started_at,
                completed_at,
                planned,
                pid,
                none,
                facts
            ];
            RUNS.insert(&transaction, "", values).map(|_| id)
        };
        let id = insert().map_err(|error| match error.is_constraint() {
            true => StoreError::RunExists(header.id.clone()),
            false => attempt.error(error),
        })?;
        transaction.commit().map_err(|error| attempt.error(error))?;
        Ok(self.ledger(id, &header.id, claim))
    }

    /// Reopens a run: its status is *running* again. Its plan stays as it was.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`]; [`StoreError::RunInUse`] while another process, or another ledger of this one,
    /// writes it; and whatever keeps its row from being written.
    pub fn reopen(&self, run: &str) -> Result<Ledger, StoreError> {
        let attempt = Attempt { path: self.path(), doing: "reopening a run" };
        let claim = self.claim_with_room(run)?;
        let connection = self.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        let mut id = None;
        let restarted = RUNS.change(&transaction, "name = ?1", params![run], |row| {
            id = Some(row.get("id")?);
            row.set("pid", &i64::from(std::process::id()));
            restart(row)
        });
        restarted.map_err(|error| attempt.error(error))?;
        let Some(id) = id else {
            drop(transaction);
            drop(connection);
            return Err(self.no_such_run(run));
        };
        transaction.commit().map_err(|error| attempt.error(error))?;
        Ok(self.ledger(id, run, claim))
    }

    /// Claims a run, with room for what it pays for.
    fn claim_with_room(&self, run: &str) -> Result<RunClaim, StoreError> {
        let claim = self.claim(run)?;
        let full = |error: std::io::Error| StoreError::Full { path: self.path().to_owned(), why: error.to_string() };
        claim.hold_room().map_err(full)?;
        Ok(claim)
    }

    pub(crate) fn claim(&self, run: &str) -> Result<RunClaim, StoreError> {
        if let Some(server) = self.server() {
            let attempt = Attempt { path: self.path(), doing: "claiming a run" };
            let claim = ServerClaim::take(server, run).map_err(|error| attempt.error(error))?;
            return claim.map(RunClaim::Server).ok_or_else(|| self.run_in_use(run));
        }
        match RunLock::take(self.path(), run) {
            Ok(Some(claim)) => Ok(RunClaim::File(claim)),
            Ok(None) => Err(self.run_in_use(run)),
            Err(error) => Err(StoreError::Open { path: self.path().to_owned(), why: error.to_string() }),
        }
    }

    fn run_in_use(&self, run: &str) -> StoreError {
        StoreError::RunInUse { run: run.to_owned(), pid: self.writer_of(run) }
    }

    /// Returns `true` if a process has the right to write a run at this moment.
    pub fn is_claimed(&self, run: &str) -> bool {
        if let Some(file) = self.url().file() {
            return is_locked_run(file, run);
        }
        // A server that is away says nothing about the process.
        self.read("the claims of runs", |connection| is_claimed_on_server(connection, run)).unwrap_or(true)
    }

    fn ledger(&self, id: i64, name: &str, claim: RunClaim) -> Ledger {
        let run = OpenRun { id, name: name.to_owned(), failed: OnceLock::new(), low: OnceLock::new(), claim };
        Ledger { run: Arc::new(run), store: self.clone() }
    }
}

fn is_claimed_on_server(connection: &Connection, run: &str) -> Result<bool, ReadFailure> {
    match connection.server() {
        Some(session) => Ok(is_claimed(session, run)?),
        None => Ok(false),
    }
}

/// Marks a run as running again.
fn restart(row: &mut StoredRow) -> SqlResult<()> {
    row.set("status", &run_status_code(RunStatus::Running));
    row.set("completed_at", &None::<i64>);
    row.set("totals", &None::<&[u8]>);
    Ok(())
}

impl Ledger {
    /// Marks the run as running again after [`Ledger::finish`], without giving up the right to write it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn restart(&self) -> Result<(), StoreError> {
        let attempt = Attempt { path: self.store.path(), doing: "reopening a run" };
        let connection = self.store.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        RUNS.change(&transaction, "name = ?1", params![self.run.name], restart)
            .and_then(|_| transaction.commit())
            .map_err(|error| attempt.error(error))
    }

    /// Returns the run's id.
    pub fn run(&self) -> &str {
        &self.run.name
    }

    /// Returns the store of the run.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The reason why the run should end now: the disk is full, and records are written into the room that was held for
    /// those under way.
    pub fn out_of_room(&self) -> Option<LedgerError> {
        self.run.low.get().cloned()
    }

    /// Writes records, all or none, after those of earlier appends of this task. Returns when they are on disk. Waits
    /// while too many appends are pending.
    ///
    /// If the future is dropped, the records may or may not be written.
    ///
    /// # Errors
    /// After a failed commit every append of this ledger fails, because no record may be written after one that is
    /// missing. Stop the run, fix the cause, and resume.
    pub async fn append(&self, records: Vec<Record>) -> Result<(), LedgerError> {
        if records.is_empty() {
            return Ok(());
        }
        let work = Work::Append(self.store.0.encoded_pool.encode(&records)?);
        // Dropped early: otherwise large answers would be in memory twice.
        drop(records);
        self.send(work, None).await.map_err(|failure| failure.error)?.wait().await
    }

    /// As [`Ledger::append`], and drops `guard` as soon as the records are on disk.
    ///
    /// # Errors
    /// As [`Ledger::append`]; the error returns the guard.
    pub async fn append_guarded(&self, records: Vec<Record>, guard: WriteGuard) -> Result<(), WriteFailed> {
        let encoded = self.store.0.encoded_pool.encode(&records);
        drop(records);
        match encoded {
            Ok(encoded) => self.send(Work::Append(encoded), Some(guard)).await?.outcome().await,
            Err(error) => Err(WriteFailed { error: error.into(), guard: Some(guard) }),
        }
    }

    /// As [`Ledger::append`], but returns before the records are on disk. They are written with the next waited-for
    /// append, when enough have accumulated, or at [`Ledger::flush`]. A commit costs nearly the same for one record
    /// as for a hundred.
    ///
    /// # Errors
    /// As [`Ledger::append`]. Later errors are returned by the receipt.
    pub async fn append_deferred(&self, records: Vec<Record>) -> Result<Receipt, LedgerError> {
        self.append_deferred_guarded(records, None).await
    }

    /// As [`Ledger::append_deferred`], and drops `guard` when the records are on disk or cannot be written.
    ///
    /// # Errors
    /// As [`Ledger::append_deferred`].
    pub async fn append_deferred_guarded(
        &self,
        records: Vec<Record>,
        guard: Option<WriteGuard>,
    ) -> Result<Receipt, LedgerError> {
        let work = Work::Append(self.store.0.encoded_pool.encode(&records)?);
        let (batch, receipt) = self.batch(work, guard).map_err(|failure| failure.error)?;
        if self.store.0.defer(batch) {
            self.flush().await?;
        }
        Ok(receipt)
    }

    /// Sends the deferred appends to the writer without waiting for the commit.
    ///
    /// # Errors
    /// As [`Ledger::append`].
    pub async fn flush(&self) -> Result<(), LedgerError> {
        Ok(self.store.0.send(None).await?)
    }

    /// Writes the final status of the run, after everything appended before.
    ///
    /// # Errors
    /// As [`Ledger::append`].
    pub async fn finish(&self, status: RunStatus, at: Moment) -> Result<(), LedgerError> {
        self.send(Work::Finish { status, at }, None).await.map_err(|failure| failure.error)?.wait().await
    }

    async fn send(&self, work: Work, guard: Option<WriteGuard>) -> Result<Receipt, WriteFailed> {
        let (batch, receipt) = self.batch(work, guard)?;
        self.store.0.send(Some(batch)).await.map_err(LedgerError::from)?;
        Ok(receipt)
    }

    fn batch(&self, work: Work, guard: Option<WriteGuard>) -> Result<(Batch, Receipt), WriteFailed> {
        if let Some(why) = self.run.failed.get() {
            return Err(WriteFailed { error: why.clone(), guard });
        }
        let (done, outcome) = oneshot::channel();
        Ok((Batch { run: Arc::clone(&self.run), work, guard, done }, Receipt(outcome)))
    }
}

/// Reports the outcome of an append.
#[derive(Debug)]
pub struct Receipt(oneshot::Receiver<Result<(), WriteFailed>>);

impl Receipt {
    /// Waits until the records are on disk.
    ///
    /// # Errors
    /// The records were not written.
    pub async fn wait(self) -> Result<(), LedgerError> {
        self.outcome().await.map_err(|failure| failure.error)
    }

    async fn outcome(self) -> Result<(), WriteFailed> {
        self.0.await.map_err(|_| LedgerError::from(StoreError::Closed))?
    }
}
