//! Batches of calls: what was collected for a provider's batch API, what was submitted, and what came back.
//!
//! An item is collected, submitted (perhaps again), answered, and settled once its call is in the ledger. A batch is
//! prepared under a random key before anything is sent, so that a killed process can look for it at the provider.

use karat_types::{Key, Moment, Money};
use rustc_hash::FxHashMap;

use crate::block::call_log;
use crate::block::call_log::CallEvent;
use crate::error::{Attempt, ReadFailure};
use crate::read::account::LOGS;
use crate::read::run_lookup::run_number;
use crate::sql::{Connection, OptionalExtension, Row, SqlResult, Transaction, params};
use crate::write::writer;
use crate::{Store, StoreError};

/// Submissions of an item before it counts as failed.
const ROUNDS: u32 = 3;

/// The state of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchItemState {
    /// Not part of a batch yet, or to be submitted again.
    Waiting,
    /// Part of a batch.
    Submitted,
    /// Answered; the call is not in the ledger yet.
    Answered,
    /// Its call is in the ledger.
    Settled,
}

/// A call that is to be made by a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectedCall {
    /// Key of the call.
    pub key: Key,
    /// Registry id of the model.
    pub model: String,
    /// The body of the request.
    pub body: Vec<u8>,
    /// The amount reserved for it.
    pub upper: Money,
    /// Records of this call that the ledger held when it was collected.
    pub earlier: u32,
}

/// A collected call without its bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchItem {
    /// Key of the call.
    pub key: Key,
    /// Registry id of the model.
    pub model: String,
    /// Size of the request in bytes.
    pub bytes: usize,
    /// The amount reserved for it.
    pub upper: Money,
    /// Records of this call that the ledger held when it was collected.
    pub earlier: u32,
    /// Its state.
    pub state: BatchItemState,
}

/// The answer to an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchAnswer {
    /// HTTP status of the line; `None` if there is no answer.
    pub status: Option<u16>,
    /// The body of the answer.
    pub body: Vec<u8>,
    /// The reason why there is none.
    pub error: Option<String>,
}

/// The end of a line of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchLineEnd {
    /// It is answered for good.
    Answered(BatchAnswer),
    /// It failed for this reason and may be submitted again.
    Again(String),
}

/// The state of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchState {
    /// Committed here; the provider may know of it or not.
    Prepared,
    /// Known at the provider under its id.
    Created,
    /// Its results are here.
    Read,
    /// Given up by the user: the provider ends it early, and its results are still to be read.
    Cancelled,
}

impl BatchState {
    /// Returns whether the provider may still work for it, so that its calls must not be made again.
    pub fn is_under_way(self) -> bool {
        matches!(self, Self::Prepared | Self::Created)
    }
}

/// A batch of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBatch {
    /// Its random key, which the provider stores too.
    pub key: String,
    /// Registry id of the model.
    pub model: String,
    /// Number of lines.
    pub lines: u32,
    /// Its state.
    pub state: BatchState,
    /// The provider's id of the uploaded file.
    pub file: Option<String>,
    /// The provider's id.
    pub remote_id: Option<String>,
    /// Time of preparation.
    pub created_at: Moment,
}

impl Store {
    /// Adds collected calls to a run; one that is settled is collected anew.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn collect_batch_items(&self, run: &str, calls: &[CollectedCall]) -> Result<(), StoreError> {
        self.write_batches(|transaction| {
            let mut insert = transaction.prepare_cached(
                "insert into batch_items (run, key, model, body, upper, earlier, round, state)
                 values (?1, ?2, ?3, ?4, ?5, ?6, 0, 0)",
            )?;
            // A new row comes last.
            let mut remove = transaction.prepare_cached("delete from batch_items where run = ?1 and key = ?2")?;
            for call in calls {
                remove.execute(params![run, call.key.0])?;
                let upper = i64::try_from(call.upper.0).unwrap_or(i64::MAX);
                insert.execute(params![run, call.key.0, call.model, call.body, upper, call.earlier])?;
            }
            Ok(())
        })
    }

    /// Returns the collected calls of a run in the order of collection.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn batch_items(&self, run: &str) -> Result<Vec<BatchItem>, StoreError> {
        self.read_batches(|connection| {
            let mut statement = connection.prepare_cached(
                "select key, model, length(body), upper, earlier, state from batch_items where run = ?1 order by id",
            )?;
            let items = statement.query_map(params![run], |row| {
                Ok(BatchItem {
                    key: Key(row.get(0)?),
                    model: row.get(1)?,
                    bytes: usize::try_from(row.get::<i64>(2)?).unwrap_or_default(),
                    upper: Money(i128::from(row.get::<i64>(3)?)),
                    earlier: row.get(4)?,
                    state: match row.get(5)? {
                        0 => BatchItemState::Waiting,
                        1 => BatchItemState::Submitted,
                        2 => BatchItemState::Answered,
                        _ => BatchItemState::Settled,
                    },
                })
            })?;
            Ok(items.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the request and the answer of an item.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn batch_answer(&self, run: &str, key: Key) -> Result<Option<(Vec<u8>, BatchAnswer)>, StoreError> {
        self.read("an answer of a batch", |connection| {
            let mut statement = connection.prepare_cached(
                "select body, status, response, error from batch_items where run = ?1 and key = ?2 and state = 2",
            )?;
            let answer = statement.query_row(params![run, key.0], |row| {
                let body = row.get::<Option<Vec<u8>>>(2)?.unwrap_or_default();
                Ok((row.get(0)?, BatchAnswer { status: row.get(1)?, body, error: row.get(3)? }))
            });
            Ok(answer.optional()?)
        })
    }

    /// Returns the requests of a batch, in the order of their lines.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn batch_requests(&self, batch: &str) -> Result<Vec<(u32, Vec<u8>)>, StoreError> {
        self.read("the requests of a batch", |connection| {
            let mut statement = connection
                .prepare_cached("select line, body from batch_items where batch = ?1 and state = 1 order by line")?;
            let requests = statement.query_map(params![batch], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(requests.collect::<Result<_, _>>()?)
        })
    }

    /// Commits a batch before anything of it is sent. The position of a key is the number of its line.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn prepare_batch(&self, run: &str, batch: &StoredBatch, keys: &[Key]) -> Result<(), StoreError> {
        self.write_batches(|transaction| {
            transaction.execute(
                "insert into batches (key, run, model, lines, state, created_at) values (?1, ?2, ?3, ?4, 0, ?5)",
                params![batch.key, run, batch.model, batch.lines, batch.created_at.0],
            )?;
            let mut update = transaction.prepare_cached(
                "update batch_items set state = 1, batch = ?3, line = ?4, round = round + 1 where run = ?1 and key = ?2",
            )?;
            for (line, key) in keys.iter().enumerate() {
                update.execute(params![run, key.0, batch.key, line as i64])?;
            }
            Ok(())
        })
    }

    /// Commits the provider's id of the uploaded file of a batch.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn set_batch_file(&self, batch: &str, file: &str) -> Result<(), StoreError> {
        self.write_batches(|transaction| {
            transaction.execute("update batches set file = ?2 where key = ?1", params![batch, file]).map(drop)
        })
    }

    /// Commits the provider's id of a batch.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn set_batch_remote_id(&self, batch: &str, id: &str) -> Result<(), StoreError> {
        self.write_batches(|transaction| {
            let update = "update batches set state = 1, remote_id = ?2 where key = ?1";
            transaction.execute(update, params![batch, id]).map(drop)
        })
    }

    /// Commits all results of a batch. A line without a result, or one that may be submitted again, waits for the next
    /// batch, at most twice.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn absorb_batch(&self, batch: &str, ends: &[(u32, BatchLineEnd)]) -> Result<(), StoreError> {
        self.write_batches(|transaction| {
            let mut answered = transaction.prepare_cached(
                "update batch_items set state = 2, status = ?3, response = ?4, error = ?5
                 where batch = ?1 and line = ?2 and state = 1",
            )?;
            let mut failed = transaction
                .prepare_cached("update batch_items set error = ?3 where batch = ?1 and line = ?2 and state = 1")?;
            for (line, end) in ends {
                match end {
                    BatchLineEnd::Answered(BatchAnswer { status, body, error }) => {
                        answered.execute(params![batch, line, status, body, error])?
                    }
                    BatchLineEnd::Again(reason) => failed.execute(params![batch, line, reason])?,
                };
            }
            let reason = "error = coalesce(error, 'the batch ended without a result for it')";
            transaction.execute(
                &format!("update batch_items set state = 2, {reason} where batch = ?1 and state = 1 and round >= ?2"),
                params![batch, ROUNDS],
            )?;
            transaction.execute(
                "update batch_items set state = 0, batch = null, error = null where batch = ?1 and state = 1",
                params![batch],
            )?;
            transaction.execute("update batches set state = 2 where key = ?1", params![batch]).map(drop)
        })
    }

    /// Takes the items out of a batch that the provider did not begin: they wait again, and this does not count as a
    /// submission.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn release_batch(&self, batch: &str) -> Result<(), StoreError> {
        self.write_batches(|transaction| {
            transaction.execute(
                "update batch_items set state = 0, batch = null, round = case when round > 0 then round - 1 else 0 end where batch = ?1 and state = 1",
                params![batch],
            )?;
            transaction.execute("update batches set state = 2 where key = ?1", params![batch]).map(drop)
        })
    }

    /// Marks a batch that its provider was asked to end.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn set_batch_cancelled(&self, batch: &str) -> Result<(), StoreError> {
        self.write_batches(|transaction| {
            transaction.execute("update batches set state = 3 where key = ?1", params![batch]).map(drop)
        })
    }

    /// Returns the newest other run of a plan whose calls are with a provider, or answered and not in its ledger yet. A
    /// further run of the plan would pay for them again.
    ///
    /// # Errors
    /// The runs cannot be read.
    pub fn run_with_batches(&self, plan_hash: Key, except: &str) -> Result<Option<String>, StoreError> {
        let runs = self.read_batches(|connection| {
            let mut statement = connection.prepare_cached(
                "select name from runs where plan_hash = ?1 and name <> ?2 and exists (
                     select 1 from batches where run = runs.name and (state in (0, 1) or state = 2 and exists (
                         select 1 from batch_items where batch = batches.key and batch_items.state = 2)))
                 order by id desc limit 1",
            )?;
            let runs = statement.query_map(params![plan_hash.0, except], |row| row.get(0))?;
            Ok(runs.collect::<Result<_, _>>()?)
        })?;
        Ok(runs.into_iter().next())
    }

    /// Marks the read batches of a run whose answers are not in the ledger yet as given up: other runs need not wait for
    /// them. A later part of the run reads them again.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn give_up_answers(&self, run: &str) -> Result<(), StoreError> {
        self.write_batches(|transaction| {
            let update = "update batches set state = 3 where run = ?1 and state = 2 and exists (
                              select 1 from batch_items where batch = batches.key and batch_items.state = 2)";
            transaction.execute(update, params![run]).map(drop)
        })
    }

    /// Marks items whose calls are in the ledger; their bodies are not needed any more.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn settle_batch_items(&self, run: &str, keys: &[Key]) -> Result<(), StoreError> {
        self.write_batches(|transaction| {
            let mut update = transaction.prepare_cached(
                "update batch_items set state = 3, body = ?3, response = null where run = ?1 and key = ?2",
            )?;
            for key in keys {
                update.execute(params![run, key.0, [0_u8; 0]])?;
            }
            Ok(())
        })
    }

    /// Returns the batches of a run, oldest first.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn batches(&self, run: &str) -> Result<Vec<StoredBatch>, StoreError> {
        self.read_batches(|connection| {
            let mut statement = connection.prepare_cached(
                "select key, model, lines, state, file, remote_id, created_at from batches where run = ?1
                 order by id",
            )?;
            let batches = statement.query_map(params![run], read_batch)?;
            Ok(batches.collect::<Result<_, _>>()?)
        })
    }

    /// Returns how many records of each call the ledger of a run holds.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the run's call log cannot be read.
    pub fn ended_calls(&self, run: &str) -> Result<FxHashMap<Key, u32>, StoreError> {
        self.read("the call log of a run", |connection| {
            let mut ended = FxHashMap::default();
            let mut statement = connection.prepare_cached(LOGS)?;
            let mut rows = statement.query(params![run_number(connection, run)?])?;
            while let Some(row) = rows.next()? {
                let log = row.blob(1)?;
                for event in call_log::read(log)? {
                    if let CallEvent::Ended(call) = event? {
                        *ended.entry(call.key).or_default() += 1;
                    }
                }
            }
            Ok(ended)
        })
    }

    fn read_batches<T>(
        &self,
        query: impl FnOnce(&Connection) -> Result<Vec<T>, ReadFailure>,
    ) -> Result<Vec<T>, StoreError> {
        self.read("the batches of a run", |connection| {
            // An older file that is read-only has no such table.
            match connection.has_table("batches")? {
                true => query(connection),
                false => Ok(Vec::new()),
            }
        })
    }

    fn write_batches(&self, write: impl FnOnce(&Transaction<'_>) -> SqlResult<()>) -> Result<(), StoreError> {
        let attempt = Attempt { path: self.path(), doing: "writing a batch" };
        let connection = self.writing();
        let transaction = writer::begin(&connection, attempt)?;
        write(&transaction).and_then(|()| transaction.commit()).map_err(|error| attempt.error(error))
    }
}

fn read_batch(row: &Row<'_>) -> SqlResult<StoredBatch> {
    Ok(StoredBatch {
        key: row.get(0)?,
        model: row.get(1)?,
        lines: row.get(2)?,
        state: match row.get(3)? {
            0 => BatchState::Prepared,
            1 => BatchState::Created,
            3 => BatchState::Cancelled,
            _ => BatchState::Read,
        },
        file: row.get(4)?,
        remote_id: row.get(5)?,
        created_at: Moment(row.get(6)?),
    })
}
