//! The writing thread: group commit.
//!
//! Appends wait in a bounded channel. The writer takes all that are there, up to [`GROUP_RECORDS`] records or
//! [`GROUP_BYTES`], writes them as one transaction (one block and its rows for each run in the group), and answers
//! every waiter once the commit is on disk. During a commit the next group accumulates, so groups grow with the load.
//! Deferred appends accumulate beside the channel and go with the next append that a caller waits for.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use karat_types::{Moment, RunStatus};
use tokio::sync::{mpsc, oneshot};

use crate::block::call_log;
use crate::block::section::{Entries, SectionWriter};
use crate::database::run_claim::RunClaim;
use crate::database::state_folder::FilePlace;
use crate::database::transaction;
use crate::error::Attempt;
use crate::format::encode::{Encoded, EncodedPool};
use crate::read::totals;
use crate::reuse::index_writer::IndexWriter;
use crate::reuse::known_keys;
use crate::reuse::known_keys::KnownKeys;
use crate::sql::SqlError;
use crate::sql::mutex::lock;
use crate::sql::tables::{BLOCKS, CELLS, JUDGMENTS, SAMPLES};
use crate::sql::{Connection, Patience, SqlResult, Transaction, params};
use crate::write::server_rows::{self, ServerBlock, Written};
use crate::{LedgerError, StoreError};

/// Largest number of records in a group: 256 cells of one call each.
const GROUP_RECORDS: usize = 1024;

/// Largest size of a group, so that a block can be decompressed in little memory.
const GROUP_BYTES: usize = 4 << 20;

/// The numbers of the next rows of a file. A server gives them in `write_block`.
const NEXT_NUMBERS: &str = "select (select coalesce(max(seq), 0) + 1 from blocks),
    (select coalesce(max(seq), 0) + 1 from cells), (select coalesce(max(seq), 0) + 1 from judgments)";

/// The later of two rows of a sample replaces the earlier one.
const LATEST_SAMPLE: &str = "on conflict (run, row) do update set facts = excluded.facts, sum = excluded.sum";

/// Appends that no caller waits for, in order.
#[derive(Debug, Default)]
pub(crate) struct DeferredBatches {
    batches: Vec<Batch>,
    records: usize,
    size: usize,
}

impl DeferredBatches {
    /// Adds an append and returns `true` if a whole group has accumulated.
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

/// An open run, as the writer sees it.
#[derive(Debug)]
pub(crate) struct OpenRun {
    pub id: i64,
    pub name: String,
    /// The error after which nothing more can be written to this run.
    pub failed: OnceLock<LedgerError>,
    /// The first error of a full disk, after which the room of the run was freed.
    pub low: OnceLock<LedgerError>,
    /// Held while the run may be written.
    pub claim: RunClaim,
}

/// The work that a caller asks for.
#[derive(Debug)]
pub(crate) enum Work {
    Append(Box<Encoded>),
    Finish { status: RunStatus, at: Moment },
}

/// A value that is dropped when records are on disk, such as a lease or a reservation.
pub struct WriteGuard(#[expect(dead_code, reason = "it is only dropped")] Box<dyn Send>);

impl WriteGuard {
    /// Holds `held` until then.
    pub fn new(held: impl Send + 'static) -> Self {
        Self(Box::new(held))
    }
}

impl fmt::Debug for WriteGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WriteGuard")
    }
}

/// Records were not written. The guard comes back, so that the caller can act before dropping it.
#[derive(Debug)]
pub struct WriteFailed {
    /// The reason.
    pub error: LedgerError,
    /// The guard given with the records.
    pub guard: Option<WriteGuard>,
}

impl From<LedgerError> for WriteFailed {
    fn from(error: LedgerError) -> Self {
        Self { error, guard: None }
    }
}

/// One append and the channel for its answer.
#[derive(Debug)]
pub(crate) struct Batch {
    pub run: Arc<OpenRun>,
    pub work: Work,
    pub guard: Option<WriteGuard>,
    pub done: oneshot::Sender<Result<(), WriteFailed>>,
}

impl Batch {
    fn encoded_records(&self) -> Option<&Encoded> {
        match &self.work {
            Work::Append(encoded) => Some(encoded),
            Work::Finish { .. } => None,
        }
    }

    fn records(&self) -> usize {
        self.encoded_records().map_or(1, |encoded| encoded.records)
    }

    fn size(&self) -> usize {
        self.encoded_records().map_or(0, Encoded::size)
    }

    /// Answers the waiter and returns the encoded records. Drops the run first, so that a waiter that drops its
    /// ledger can reopen the run at once.
    fn answer(self, outcome: Result<(), LedgerError>) -> Option<Box<Encoded>> {
        let Self { run, work, guard, done } = self;
        drop(run);
        // A waiter that was dropped needs no answer.
        let _ = done.send(outcome.map_err(|error| WriteFailed { error, guard }));
        match work {
            Work::Append(encoded) => Some(encoded),
            Work::Finish { .. } => None,
        }
    }
}

/// The writing side of a store.
pub(crate) struct Writer {
    pub path: PathBuf,
    /// The file that was opened, unless the store is on a server.
    pub place: Option<FilePlace>,
    /// The ids of the group's blocks on a server, once an attempt to write it has begun. Each attempt uses the same ones, so
    /// that an earlier one which the server executes late writes nothing.
    pub ids: Vec<String>,
    pub deferred: Arc<Mutex<DeferredBatches>>,
    pub encoded_pool: Arc<EncodedPool>,
    pub known_keys: Arc<KnownKeys>,
    pub connection: Arc<Mutex<Connection>>,
    pub indexing: IndexWriter,
    pub sections: SectionWriter,
    pub patience: Patience,
}

impl Writer {
    /// Writes until every sender is dropped and the channel is empty, then writes the deferred appends.
    pub fn run(mut self, mut inbox: mpsc::Receiver<Vec<Batch>>) {
        while let Some(first) = inbox.blocking_recv() {
            let group = gather(first, &mut inbox);
            self.commit(group);
        }
        let rest = lock(&self.deferred).take();
        self.commit(gather(rest, &mut inbox));
    }

    /// Writes a group and answers its waiters.
    fn commit(&mut self, (mut group, refused): (Vec<Batch>, Vec<(Batch, LedgerError)>)) {
        let ends_run = group.iter().any(|batch| matches!(batch.work, Work::Finish { .. }));
        for (batch, why) in refused {
            batch.answer(Err(why));
        }
        let outcome = self.write_through_losses(&group).map_err(LedgerError::from);
        match &outcome {
            // Guards are dropped before any waiter continues, because other tasks wait for them.
            Ok(()) => group.iter_mut().for_each(|batch| drop(batch.guard.take())),
            Err(_) => self.indexing = IndexWriter::default(),
        }
        let answered = group.into_iter().filter_map(|batch| {
            if let Err(error) = &outcome {
                let _ = batch.run.failed.set(error.clone());
            }
            batch.answer(outcome.clone())
        });
        self.encoded_pool.recycle(answered.collect());
        if ends_run && outcome.is_ok() {
            // Runs while the caller reads the run; otherwise closing the store would wait for it. A checkpoint that
            // is impossible now happens at closing. The cached pages are hardly needed again.
            if let Some(file) = lock(&self.connection).file() {
                let _ = file.execute_batch("pragma wal_checkpoint(passive); pragma shrink_memory");
            }
        }
    }

    /// Writes a group, and again when the connection with the server was lost meanwhile or another process keeps the store
    /// locked. The answers wait in memory, and their calls hold their slots, so no new call is made. Once the patience is over
    /// the group fails, as on a full disk.
    fn write_through_losses(&mut self, group: &[Batch]) -> Result<(), StoreError> {
        // Nothing that is written would say that the store answers.
        if group.is_empty() {
            return Ok(());
        }
        self.ids.clear();
        let patience = self.patience.clone();
        transaction::wait_out(&patience, || {
            self.write_or_free_room(group).inspect_err(|error| {
                if matches!(error, StoreError::Away { .. } | StoreError::Busy { .. }) {
                    self.indexing = IndexWriter::default();
                }
            })
        })
    }

    /// Writes a group. On a full disk, frees the room that its runs hold and tries again.
    fn write_or_free_room(&mut self, group: &[Batch]) -> Result<(), StoreError> {
        let error = match self.write(group) {
            Err(error @ StoreError::Full { .. }) => error,
            outcome => return outcome,
        };
        if group.iter().filter(|batch| batch.run.claim.free_room()).count() == 0 {
            return Err(error);
        }
        let error = LedgerError::from(error);
        group.iter().for_each(|batch| drop(batch.run.low.set(error.clone())));
        self.indexing = IndexWriter::default();
        self.write(group)
    }

    fn write(&mut self, group: &[Batch]) -> Result<(), StoreError> {
        // Once it is deleted, records would go into a file that nobody can open.
        if self.place.as_ref().is_some_and(|place| FilePlace::of(&self.path) != *place) {
            return Err(StoreError::Gone { path: self.path.clone() });
        }
        // Compressed before the lock is taken: other processes wait only for the transaction.
        let blocks = Block::of_runs(group, &mut self.sections)
            .map_err(|error| StoreError::OutOfRange(format!("a block of records: {error}")))?;
        let keys = group.iter().filter_map(Batch::encoded_records).map(Encoded::count_reusable).sum();
        let is_repeated = !self.ids.is_empty();
        if !is_repeated && group.iter().any(|batch| batch.run.claim.server().is_some()) {
            self.ids = blocks.iter().map(|_| uuid::Uuid::now_v7().to_string()).collect();
            if let Some(written) = self.write_at_once(group, &blocks, keys) {
                return written;
            }
        }
        let attempt = Attempt { path: &self.path, doing: "writing records" };
        let connection = lock(&self.connection);
        let transaction = transaction::begin(&connection, attempt)?;
        if is_repeated && is_committed(&transaction, &self.ids).map_err(|error| attempt.error(error))? {
            self.known_keys.discard();
            return Ok(());
        }
        hold_claims(&transaction, group, attempt)?;
        let mut ids = self.ids.iter();
        let inserted = blocks.iter().map(|block| Ok((block.insert(&transaction, ids.next())?, &*block.reuse)));
        let inserted = inserted.collect::<SqlResult<Vec<_>>>().map_err(|error| attempt.error(error))?;
        let indexed = self.indexing.add(&transaction, keys);
        let indexed = indexed.map_err(|failure| failure.of(&self.path, "the keys of reusable results"))?;
        for batch in group {
            if let Work::Finish { status, at } = &batch.work {
                totals::finish(&transaction, batch.run.id, *status, *at, attempt)?;
            }
        }
        transaction.commit().map_err(|error| attempt.error(error))?;
        self.known_keys.add_committed(indexed, inserted);
        Ok(())
    }

    /// Writes a group to a server as one statement, so in one round trip rather than five, if it is no more than a block of
    /// one run. Returns `None` if it needs a transaction.
    fn write_at_once(&mut self, group: &[Batch], blocks: &[Block<'_>], keys: usize) -> Option<Result<(), StoreError>> {
        let ([block], [id]) = (blocks, &*self.ids) else { return None };
        let ends_run = group.iter().any(|batch| matches!(batch.work, Work::Finish { .. }));
        if ends_run || !self.indexing.only_counts(keys) {
            return None;
        }
        let connection = lock(&self.connection);
        let written = server_rows::write(&block.on_server(id)?, keys, connection.server()?);
        let attempt = Attempt { path: &self.path, doing: "writing records" };
        Some(match written {
            Ok(Some(Written { block: number, waiting, indexed })) => {
                self.indexing.note_counted(keys, waiting);
                self.known_keys.add_committed(indexed, vec![(number, &*block.reuse)]);
                Ok(())
            }
            Ok(None) => Err(StoreError::RunLost(block.run.name.clone())),
            Err(error) => Err(attempt.error(error)),
        })
    }
}

/// Returns whether the blocks of an earlier attempt are there. This writer has its turn: either that attempt has ended, or
/// the server comes to it later and refuses it for the ids of its blocks.
fn is_committed(connection: &Connection, blocks: &[String]) -> SqlResult<bool> {
    let Some(first) = blocks.first() else { return Ok(false) };
    // One commit has written all of them.
    connection.prepare_cached("select 1 from blocks where id = ?1::text::uuid")?.exists(params![first])
}

/// Checks that this process still has the right to write the runs, and keeps it for longer.
fn hold_claims(connection: &Connection, group: &[Batch], attempt: Attempt<'_>) -> Result<(), StoreError> {
    let runs: BTreeMap<i64, &OpenRun> = group.iter().map(|batch| (batch.run.id, &*batch.run)).collect();
    for run in runs.into_values() {
        if !run.claim.hold(connection).map_err(|error| attempt.error(error))? {
            return Err(StoreError::RunLost(run.name.clone()));
        }
    }
    Ok(())
}

/// Takes the waiting appends, up to the size of a group, and separates those of runs that have failed.
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

/// The content that one commit adds to one run.
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
            if let Some(encoded) = batch.encoded_records() {
                runs.entry(batch.run.id).or_insert_with(|| (&batch.run, Vec::new())).1.push(encoded);
            }
        }
        runs.into_values().map(|(run, parts)| Self::new(run, parts, sections)).collect()
    }

    fn new(run: &'a OpenRun, parts: Vec<&'a Encoded>, sections: &mut SectionWriter) -> std::io::Result<Self> {
        let mut section = |of: fn(&Encoded) -> &Entries| sections.write(parts.iter().map(|part| of(part)));
        Ok(Self {
            run,
            log: call_log::join(parts.iter().map(|part| &part.log)),
            reuse: known_keys::pack_keys(&parts),
            judgments: section(|part| &part.judgments)?,
            outputs: section(|part| &part.outputs)?,
            traces: section(|part| &part.traces)?,
            parts,
        })
    }

    /// Inserts the block with all its rows and returns its number.
    fn insert(&self, transaction: &Transaction<'_>, id: Option<&String>) -> SqlResult<i64> {
        if let (Some(session), Some(id)) = (transaction.server(), id) {
            // `hold_claims` has looked whether the run is still this process's.
            let rows = self.on_server(id).ok_or(SqlError::NoRow)?;
            let written = server_rows::write(&rows, 0, session)?.ok_or(SqlError::NoRow)?;
            return Ok(written.block);
        }
        let mut numbers = transaction.prepare_cached(NEXT_NUMBERS)?;
        let (block, cell, judgment) =
            numbers.query_row(params![], |row| Ok((row.get::<i64>(0)?, row.get(1)?, row.get(2)?)))?;
        let Self { run, log, reuse, judgments, outputs, traces, .. } = self;
        BLOCKS.insert(transaction, "", params![block, run.id, log, reuse, judgments, outputs, traces])?;
        self.insert_samples(transaction)?;
        self.insert_cells(transaction, block, cell)?;
        self.insert_judgments(transaction, block, judgment)?;
        Ok(block)
    }

    /// Returns its rows as a server takes them, unless its run is in a file.
    fn on_server<'b>(&'b self, id: &'b str) -> Option<ServerBlock<'b>> {
        Some(ServerBlock {
            id,
            run: self.run.id,
            claim: self.run.claim.server()?,
            parts: &self.parts,
            log: &self.log,
            reuse: &self.reuse,
            judgments: &self.judgments,
            outputs: &self.outputs,
            traces: &self.traces,
        })
    }

    fn insert_samples(&self, transaction: &Transaction<'_>) -> SqlResult<()> {
        let mut insert = SAMPLES.inserting(transaction, LATEST_SAMPLE)?;
        for part in &self.parts {
            for (row, facts) in &part.samples {
                insert.execute(params![self.run.id, row, part.facts_at(facts)])?;
            }
        }
        Ok(())
    }

    fn insert_cells(&self, transaction: &Transaction<'_>, block: i64, mut seq: i64) -> SqlResult<()> {
        let mut insert = CELLS.inserting(transaction, "")?;
        let mut base = 0;
        for part in &self.parts {
            for cell in &part.cells {
                let output = cell.output.map(|entry| (base + entry) as i64);
                let facts = part.facts_at(&cell.facts);
                insert.execute(params![seq, self.run.id, cell.ordinal, cell.status, block, output, facts])?;
                seq += 1;
            }
            base += part.outputs.len();
        }
        Ok(())
    }

    fn insert_judgments(&self, transaction: &Transaction<'_>, block: i64, seq: i64) -> SqlResult<()> {
        let rows = self.parts.iter().flat_map(|part| &part.judged).zip(0_i64..);
        let mut insert = JUDGMENTS.inserting(transaction, "")?;
        for ((row, entry), seq) in rows.zip(seq..) {
            let place = (row.ordinal, row.scorer, row.judge);
            insert.execute(params![seq, self.run.id, place.0, place.1, place.2, row.is_sound, block, entry])?;
        }
        Ok(())
    }
}
