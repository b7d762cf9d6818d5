//! The one thread that writes: group commit.
//!
//! Appends wait in a bounded channel. The writer takes what is there, up to [`GROUP_RECORDS`] records or
//! [`GROUP_BYTES`], writes it as one transaction — a block and its rows for each run in it — and answers every waiter
//! once the commit is on disk. While it commits, the next group gathers, so groups grow with the load. Appends
//! that nobody waits for gather beside the channel, until one that somebody waits for takes them along.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use karat_types::{Moment, RunStatus};
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, params};
use tokio::sync::{mpsc, oneshot};

use crate::claim::Claim;
use crate::encode::{Encoded, Used};
use crate::error::{Attempt, BUSY_SECONDS};
use crate::format::run_status_code;
use crate::indexing::Indexing;
use crate::lock::lock;
use crate::reuse::KnownKeys;
use crate::section::{Entries, SectionWriter};
use crate::{LedgerError, StoreError, calllog, reuse, totals};

/// A group is written when it has so many records: 256 cells of one call each.
const GROUP_RECORDS: usize = 1024;

/// Or when it has so many bytes, so that a block can be unpacked in little memory.
const GROUP_BYTES: usize = 4 << 20;

/// Appends that nobody waits for, in their order.
#[derive(Debug, Default)]
pub(crate) struct PutOff {
    batches: Vec<Batch>,
    records: usize,
    size: usize,
}

impl PutOff {
    /// Adds one, and says whether there is no room for more.
    pub fn add(&mut self, batch: Batch) -> bool {
        self.records += batch.records();
        self.size += batch.size();
        self.batches.push(batch);
        self.records >= GROUP_RECORDS || self.size >= GROUP_BYTES
    }

    pub fn take(&mut self) -> Vec<Batch> {
        std::mem::take(self).batches
    }
}

/// A run as its writer knows it.
#[derive(Debug)]
pub(crate) struct OpenRun {
    pub id: i64,
    pub name: String,
    /// Why nothing more can be written to this run.
    pub failed: OnceLock<LedgerError>,
    /// Held as long as anybody may write.
    pub _claim: Claim,
}

/// What a waiter wants written.
#[derive(Debug)]
pub(crate) enum Work {
    Append(Box<Encoded>),
    Finish { status: RunStatus, at: Moment },
}

/// What is held until records are on disk, and let go then.
pub struct Hold(#[expect(dead_code, reason = "it is only let go")] Box<dyn Send>);

impl Hold {
    /// Holds it.
    pub fn new(held: impl Send + 'static) -> Self {
        Self(Box::new(held))
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hold")
    }
}

/// Records were not written. What was held for them comes back, so that something can be done before it is let go.
#[derive(Debug)]
pub struct Unwritten {
    /// Why.
    pub error: LedgerError,
    /// What was held.
    pub hold: Option<Hold>,
}

impl From<LedgerError> for Unwritten {
    fn from(error: LedgerError) -> Self {
        Self { error, hold: None }
    }
}

/// One append, and whom to tell.
#[derive(Debug)]
pub(crate) struct Batch {
    pub run: Arc<OpenRun>,
    pub work: Work,
    pub hold: Option<Hold>,
    pub done: oneshot::Sender<Result<(), Unwritten>>,
}

impl Batch {
    fn encoded(&self) -> Option<&Encoded> {
        match &self.work {
            Work::Append(encoded) => Some(encoded),
            Work::Finish { .. } => None,
        }
    }

    fn records(&self) -> usize {
        self.encoded().map_or(1, |encoded| encoded.records)
    }

    fn size(&self) -> usize {
        self.encoded().map_or(0, Encoded::size)
    }

    /// Tells the waiter, and gives what was written. The run is let go before, so that a waiter who gives up its ledger can
    /// open the run anew.
    fn answer(self, outcome: Result<(), LedgerError>) -> Option<Box<Encoded>> {
        let Self { run, work, hold, done } = self;
        drop(run);
        // A waiter that has gone away needs no answer.
        let _ = done.send(outcome.map_err(|error| Unwritten { error, hold }));
        match work {
            Work::Append(encoded) => Some(encoded),
            Work::Finish { .. } => None,
        }
    }
}

/// Owns the writing side of a store.
pub(crate) struct Writer {
    pub path: PathBuf,
    pub put_off: Arc<Mutex<PutOff>>,
    pub used: Arc<Used>,
    pub known_keys: Arc<KnownKeys>,
    pub connection: Arc<Mutex<Connection>>,
    pub indexing: Indexing,
    pub sections: SectionWriter,
}

impl Writer {
    /// Writes until every sender is gone and the channel is empty, and then what is still put off.
    pub fn run(mut self, mut inbox: mpsc::Receiver<Vec<Batch>>) {
        while let Some(first) = inbox.blocking_recv() {
            let group = gather(first, &mut inbox);
            self.commit(group);
        }
        let rest = lock(&self.put_off).take();
        self.commit(gather(rest, &mut inbox));
    }

    /// Writes a group and tells everybody.
    fn commit(&mut self, (mut group, refused): (Vec<Batch>, Vec<(Batch, LedgerError)>)) {
        let ends_run = group.iter().any(|batch| matches!(batch.work, Work::Finish { .. }));
        for (batch, why) in refused {
            batch.answer(Err(why));
        }
        let outcome = self.write(&group).map_err(LedgerError::from);
        match &outcome {
            // Before any waiter is told: others have waited for what it held.
            Ok(()) => group.iter_mut().for_each(|batch| drop(batch.hold.take())),
            Err(_) => self.indexing = Indexing::default(),
        }
        let answered = group.into_iter().filter_map(|batch| {
            if let Err(error) = &outcome {
                let _ = batch.run.failed.set(error.clone());
            }
            batch.answer(outcome.clone())
        });
        self.used.take_back(answered.collect());
        if ends_run && outcome.is_ok() {
            // Beside whoever reads the run now, who would wait for it when the store is closed. What cannot be done now is
            // done then. Its pages will hardly be needed again.
            let _ = lock(&self.connection).execute_batch("pragma wal_checkpoint(passive); pragma shrink_memory");
        }
    }

    fn write(&mut self, group: &[Batch]) -> Result<(), StoreError> {
        if group.is_empty() {
            return Ok(());
        }
        let attempt = Attempt { path: &self.path, doing: "writing records" };
        // Compressed before the lock is taken: other processes wait only for the writing itself.
        let blocks = Block::of_runs(group, &mut self.sections)
            .map_err(|error| StoreError::OutOfRange(format!("a block of records: {error}")))?;
        let connection = lock(&self.connection);
        let transaction = begin(&connection, attempt)?;
        let inserted = blocks.iter().map(|block| Ok((block.insert(&transaction)?, &*block.reuse)));
        let inserted = inserted.collect::<rusqlite::Result<Vec<_>>>().map_err(|error| attempt.failed(error))?;
        let keys = group.iter().filter_map(Batch::encoded).map(Encoded::reusable).sum();
        let indexed = self.indexing.add(&transaction, keys);
        let indexed = indexed.map_err(|failure| failure.of(&self.path, "the keys of reusable results"))?;
        for batch in group {
            if let Work::Finish { status, at } = &batch.work {
                totals::finish(&transaction, batch.run.id, *status, *at, attempt)?;
            }
        }
        transaction.commit().map_err(|error| attempt.failed(error))?;
        self.known_keys.committed(indexed, inserted);
        Ok(())
    }
}

/// Takes what waits, up to the size of a group, and sets apart what belongs to a run that has failed.
fn gather(first: Vec<Batch>, inbox: &mut mpsc::Receiver<Vec<Batch>>) -> (Vec<Batch>, Vec<(Batch, LedgerError)>) {
    let (mut group, mut refused) = (Vec::new(), Vec::new());
    let (mut records, mut size) = (0, 0);
    let mut next = Some(first);
    while let Some(batches) = next {
        for batch in batches {
            records += batch.records();
            size += batch.size();
            match batch.run.failed.get().cloned() {
                None => group.push(batch),
                Some(why) => refused.push((batch, why)),
            }
        }
        next = if records < GROUP_RECORDS && size < GROUP_BYTES { inbox.try_recv().ok() } else { None };
    }
    (group, refused)
}

/// Begins a writing transaction; where another process keeps the store locked, the error says which.
pub(crate) fn begin<'c>(connection: &'c Connection, attempt: Attempt<'_>) -> Result<Transaction<'c>, StoreError> {
    Transaction::new_unchecked(connection, TransactionBehavior::Immediate).map_err(|error| {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy) => {
                StoreError::Busy { path: attempt.path.to_owned(), waited_s: BUSY_SECONDS, holder: holder(connection) }
            }
            _ => attempt.failed(error),
        }
    })
}

/// Who seems to hold the lock: other processes with an unfinished run. Reading needs no lock.
fn holder(connection: &Connection) -> String {
    let running = connection
        .prepare("select name, pid from runs where status = ?1 and pid <> ?2 order by id desc limit 3")
        .and_then(|mut statement| {
            let rows = statement
                .query_map(params![run_status_code(RunStatus::Running), i64::from(std::process::id())], |row| {
                    Ok(format!("process {} (run {})", row.get::<_, i64>(1)?, row.get::<_, String>(0)?))
                })?;
            rows.collect::<Result<Vec<_>, _>>()
        });
    match running {
        Ok(names) if !names.is_empty() => format!("it may be {}", names.join(" or ")),
        _ => "it is not known which".to_owned(),
    }
}

/// What one commit adds to one run.
struct Block<'a> {
    run: &'a OpenRun,
    parts: Vec<&'a Encoded>,
    log: Vec<u8>,
    reuse: Vec<u8>,
    judgments: Vec<u8>,
    outputs: Vec<u8>,
    traces: Vec<u8>,
}

impl<'a> Block<'a> {
    fn of_runs(group: &'a [Batch], sections: &mut SectionWriter) -> std::io::Result<Vec<Self>> {
        let mut runs: BTreeMap<i64, (&OpenRun, Vec<&Encoded>)> = BTreeMap::new();
        for batch in group {
            if let Some(encoded) = batch.encoded() {
                runs.entry(batch.run.id).or_insert_with(|| (&batch.run, Vec::new())).1.push(encoded);
            }
        }
        runs.into_values().map(|(run, parts)| Self::new(run, parts, sections)).collect()
    }

    fn new(run: &'a OpenRun, parts: Vec<&'a Encoded>, sections: &mut SectionWriter) -> std::io::Result<Self> {
        let mut section = |of: fn(&Encoded) -> &Entries| sections.write(parts.iter().map(|part| of(part)));
        Ok(Self {
            run,
            log: calllog::join(parts.iter().map(|part| &part.log)),
            reuse: reuse::pack_keys(&parts),
            judgments: section(|part| &part.judgments)?,
            outputs: section(|part| &part.outputs)?,
            traces: section(|part| &part.traces)?,
            parts,
        })
    }

    /// Inserts it and all its rows, and says its number.
    fn insert(&self, transaction: &Transaction<'_>) -> rusqlite::Result<i64> {
        transaction
            .prepare_cached(
                "insert into blocks (run, log, reuse, judgments, outputs, traces) values (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![self.run.id, self.log, self.reuse, self.judgments, self.outputs, self.traces])?;
        let block = transaction.last_insert_rowid();
        self.insert_samples(transaction)?;
        self.insert_cells(transaction, block)?;
        self.insert_judgments(transaction, block)?;
        Ok(block)
    }

    fn insert_samples(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let mut insert =
            transaction.prepare_cached("insert or replace into samples (run, row, facts) values (?1, ?2, ?3)")?;
        for part in &self.parts {
            for (row, facts) in &part.samples {
                insert.execute(params![self.run.id, row, part.facts_at(facts)])?;
            }
        }
        Ok(())
    }

    fn insert_cells(&self, transaction: &Transaction<'_>, block: i64) -> rusqlite::Result<()> {
        let mut insert = transaction.prepare_cached(
            "insert into cells (run, ordinal, status, block, output, facts) values (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        let mut base = 0;
        for part in &self.parts {
            for cell in &part.cells {
                let output = cell.output.map(|entry| (base + entry) as i64);
                insert.execute(params![
                    self.run.id,
                    cell.ordinal,
                    cell.status,
                    block,
                    output,
                    part.facts_at(&cell.facts)
                ])?;
            }
            base += part.outputs.len();
        }
        Ok(())
    }

    fn insert_judgments(&self, transaction: &Transaction<'_>, block: i64) -> rusqlite::Result<()> {
        let mut insert = transaction.prepare_cached(
            "insert into judgments (run, ordinal, scorer, judge, ok, block, entry) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        for (entry, row) in self.parts.iter().flat_map(|part| &part.judged).enumerate() {
            insert.execute(params![
                self.run.id,
                row.ordinal,
                row.scorer,
                row.judge,
                row.is_sound,
                block,
                entry as i64
            ])?;
        }
        Ok(())
    }
}
