//! Batches of calls: what was collected for a provider's batch API, what was submitted, and what came back.
//!
//! An item is collected, submitted (perhaps again), answered, and settled once its call is in the ledger. A batch is
//! prepared under a random key before anything is sent, so that a killed process can look for it at the provider.

use karat_types::{Key, Moment, Money};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::block::call_log;
use crate::block::call_log::CallEvent;
use crate::database::transaction;
use crate::error::{Attempt, ReadFailure};
use crate::format::run_lookup::{newest_run, run_number};
use crate::read::account::{LOGS, log_query, read_log};
use crate::sql::tables::{BATCH_ITEMS, BATCHES, run_column as column};
use crate::sql::{Connection, OptionalExtension, Row, SqlResult, StoredRow, Transaction, params};
use crate::{Store, StoreError};

/// Submissions of an item before it counts as failed.
const ROUNDS: u32 = 3;

/// The code of [`BatchItemState::Answered`].
const ANSWERED: i64 = 2;

const OF_CALL: &str = "run = ?1 and key = ?2";
const OF_BATCH: &str = "key = ?1";
const SUBMITTED: &str = "batch = ?1 and state = 1";
const WITH_BODIES: &[&str] = &["body", "response"];

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
            let mut insert = BATCH_ITEMS.inserting(transaction, "")?;
            for call in calls {
                // A new row comes last.
                BATCH_ITEMS.delete(transaction, OF_CALL, params![run, call.key.0])?;
                let (id, upper) =
                    (BATCH_ITEMS.next_number(transaction)?, i64::try_from(call.upper.0).unwrap_or(i64::MAX));
                let CollectedCall { key, model, body, earlier, .. } = call;
                let (none, empty) = (None::<i64>, None::<&str>);
                insert.execute(params![
                    id,
                    run,
                    key.0,
                    model,
                    upper,
                    earlier,
                    0,
                    0,
                    empty,
                    none,
                    none,
                    empty,
                    body,
                    None::<&[u8]>
                ])?;
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
            let mut items = Vec::new();
            for_each_item(connection, |row, bytes| {
                if row.get::<String>(1)? != run {
                    return Ok(());
                }
                items.push(BatchItem {
                    key: Key(row.get(2)?),
                    model: row.get(3)?,
                    bytes: usize::try_from(row.get::<i64>(bytes)?).unwrap_or_default(),
                    upper: Money(i128::from(row.get::<i64>(4)?)),
                    earlier: row.get(5)?,
                    state: match row.get(7)? {
                        0 => BatchItemState::Waiting,
                        1 => BatchItemState::Submitted,
                        ANSWERED => BatchItemState::Answered,
                        _ => BatchItemState::Settled,
                    },
                });
                Ok(())
            })?;
            Ok(items)
        })
    }

    /// Returns the request and the answer of an item.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn batch_answer(&self, run: &str, key: Key) -> Result<Option<(Vec<u8>, BatchAnswer)>, StoreError> {
        self.read("an answer of a batch", |connection| {
            let columns = BATCH_ITEMS.select(connection, WITH_BODIES);
            let select = format!("select {columns} from batch_items where {OF_CALL} and state = 2");
            let mut statement = connection.prepare_cached(&select)?;
            let answer = statement.query_row(params![run, key.0], |row| {
                BATCH_ITEMS.check(row, WITH_BODIES)?;
                let body = row.get::<Option<Vec<u8>>>(13)?.unwrap_or_default();
                Ok((row.get(12)?, BatchAnswer { status: row.get(10)?, body, error: row.get(11)? }))
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
            let columns = BATCH_ITEMS.select(connection, &["body"]);
            let select = format!("select {columns} from batch_items where {SUBMITTED} order by line");
            let mut statement = connection.prepare_cached(&select)?;
            let requests = statement.query_map(params![batch], |row| {
                BATCH_ITEMS.check(row, &["body"])?;
                Ok((row.get(9)?, row.get(12)?))
            })?;
            Ok(requests.collect::<Result<_, _>>()?)
        })
    }

    /// Commits a batch before anything of it is sent. The position of a key is the number of its line.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn prepare_batch(&self, run: &str, batch: &StoredBatch, keys: &[Key]) -> Result<(), StoreError> {
        self.write_batches(|transaction| {
            let (id, none) = (BATCHES.next_number(transaction)?, None::<&str>);
            let StoredBatch { key, model, lines, created_at, .. } = batch;
            BATCHES.insert(transaction, "", params![id, key, run, model, lines, 0, none, none, created_at.0])?;
            for (line, key) in keys.iter().enumerate() {
                BATCH_ITEMS.change(transaction, OF_CALL, params![run, key.0], |row| {
                    row.set("state", &1);
                    row.set("batch", &batch.key);
                    row.set("line", &(line as i64));
                    let round = row.get::<i64>("round")? + 1;
                    row.set("round", &round);
                    Ok(())
                })?;
            }
            Ok(())
        })
    }

    /// Commits the provider's id of the uploaded file of a batch.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn set_batch_file(&self, batch: &str, file: &str) -> Result<(), StoreError> {
        self.change_batch(batch, |row| row.set("file", &file))
    }

    /// Commits the provider's id of a batch.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn set_batch_remote_id(&self, batch: &str, id: &str) -> Result<(), StoreError> {
        self.change_batch(batch, |row| {
            row.set("state", &1);
            row.set("remote_id", &id);
        })
    }

    /// Commits all results of a batch. A line without a result, or one that may be submitted again, waits for the next
    /// batch, at most twice.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn absorb_batch(&self, batch: &str, ends: &[(u32, BatchLineEnd)]) -> Result<(), StoreError> {
        self.write_batches(|transaction| {
            for (line, end) in ends {
                let of_line = format!("{SUBMITTED} and line = ?2");
                BATCH_ITEMS.change(transaction, &of_line, params![batch, line], |row| {
                    match end {
                        BatchLineEnd::Answered(BatchAnswer { status, body, error }) => {
                            row.set("state", &2);
                            row.set("status", status);
                            row.set("response", body);
                            row.set("error", error);
                        }
                        BatchLineEnd::Again(reason) => row.set("error", reason),
                    }
                    Ok(())
                })?;
            }
            BATCH_ITEMS.change(transaction, SUBMITTED, params![batch], |row| {
                if row.get::<u32>("round")? < ROUNDS {
                    return wait_again(row);
                }
                let reason: Option<String> = row.get("error")?;
                row.set("state", &2);
                row.set("error", &reason.as_deref().unwrap_or("the batch ended without a result for it"));
                Ok(())
            })?;
            set_state(transaction, batch, 2)
        })
    }

    /// Takes the items out of a batch that the provider did not begin: they wait again, and this does not count as a
    /// submission.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn release_batch(&self, batch: &str) -> Result<(), StoreError> {
        self.write_batches(|transaction| {
            BATCH_ITEMS.change(transaction, SUBMITTED, params![batch], |row| {
                let round = row.get::<i64>("round")?;
                row.set("state", &0);
                row.set("batch", &None::<&str>);
                row.set("round", &(round - 1).max(0));
                Ok(())
            })?;
            set_state(transaction, batch, 2)
        })
    }

    /// Marks a batch that its provider was asked to end.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn set_batch_cancelled(&self, batch: &str) -> Result<(), StoreError> {
        self.write_batches(|transaction| set_state(transaction, batch, 3))
    }

    /// Returns the newest other run of a plan whose calls are with a provider, or answered and not in its ledger yet. A
    /// further run of the plan would pay for them again.
    ///
    /// # Errors
    /// The runs cannot be read.
    pub fn run_with_batches(&self, plan_hash: Key, except: &str) -> Result<Option<String>, StoreError> {
        let runs = self.read_batches(|connection| {
            let mut answered = FxHashSet::default();
            for_each_item(connection, |row, _| {
                if row.get::<i64>(7)? == ANSWERED {
                    answered.extend(row.get::<Option<String>>(8)?);
                }
                Ok(())
            })?;
            let is_open = |batch: &StoredBatch| {
                batch.state.is_under_way() || batch.state == BatchState::Read && answered.contains(&batch.key)
            };
            let open = all_batches(connection)?.into_iter().filter(|(_, batch)| is_open(batch));
            let open: FxHashSet<String> = open.map(|(run, _)| run).filter(|run| run != except).collect();
            let found = newest_run(connection, &[], |row| {
                let name: String = row.get(column::NAME)?;
                let is_it = row.get::<[u8; 16]>(column::PLAN_HASH)? == plan_hash.0 && open.contains(&name);
                Ok(is_it.then_some(name))
            })?;
            Ok(found.into_iter().collect())
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
            let answered = "run = ?1 and state = 2 and exists (
                                select 1 from batch_items where batch = batches.key and batch_items.state = 2)";
            let give_up = |row: &mut StoredRow| {
                row.set("state", &3);
                Ok(())
            };
            BATCHES.change(transaction, answered, params![run], give_up).map(drop)
        })
    }

    /// Marks items whose calls are in the ledger; their bodies are not needed any more.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn settle_batch_items(&self, run: &str, keys: &[Key]) -> Result<(), StoreError> {
        self.write_batches(|transaction| {
            for key in keys {
                BATCH_ITEMS.change(transaction, OF_CALL, params![run, key.0], |row| {
                    row.set("state", &3);
                    row.set("body", &[0_u8; 0]);
                    row.set("response", &None::<&[u8]>);
                    Ok(())
                })?;
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
            let all = all_batches(connection)?.into_iter();
            Ok(all.filter(|(of, _)| of == run).map(|(_, batch)| batch).collect())
        })
    }

    /// Returns how many records of each call the ledger of a run holds.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the run's call log cannot be read.
    pub fn ended_calls(&self, run: &str) -> Result<FxHashMap<Key, u32>, StoreError> {
        self.read("the call log of a run", |connection| {
            let mut ended = FxHashMap::default();
            let mut statement = connection.prepare_cached(&log_query(connection, LOGS))?;
            let mut rows = statement.query(params![run_number(connection, run)?])?;
            while let Some(row) = rows.next()? {
                let (_, log) = read_log(&row)?;
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

    fn change_batch(&self, batch: &str, mut change: impl FnMut(&mut StoredRow)) -> Result<(), StoreError> {
        self.write_batches(|transaction| {
            let change = |row: &mut StoredRow| {
                change(row);
                Ok(())
            };
            BATCHES.change(transaction, OF_BATCH, params![batch], change).map(drop)
        })
    }

    fn write_batches(&self, write: impl FnOnce(&Transaction<'_>) -> SqlResult<()>) -> Result<(), StoreError> {
        let attempt = Attempt { path: self.path(), doing: "writing a batch" };
        let connection = self.writing();
        let transaction = transaction::begin(&connection, attempt)?;
        write(&transaction).and_then(|()| transaction.commit()).map_err(|error| attempt.error(error))
    }
}

fn set_state(transaction: &Transaction<'_>, batch: &str, state: i64) -> SqlResult<()> {
    let set = |row: &mut StoredRow| {
        row.set("state", &state);
        Ok(())
    };
    BATCHES.change(transaction, OF_BATCH, params![batch], set).map(drop)
}

/// Lets an item wait for the next batch.
fn wait_again(row: &mut StoredRow) -> SqlResult<()> {
    row.set("state", &0);
    row.set("batch", &None::<&str>);
    row.set("error", &None::<&str>);
    Ok(())
}

/// Reads all items, in the order of collection: one whose run is damaged would otherwise be missing without a word, and be
/// paid for again. The number is that of the column with the size of the request.
fn for_each_item(
    connection: &Connection,
    mut each: impl FnMut(&Row<'_>, usize) -> SqlResult<()>,
) -> Result<(), ReadFailure> {
    let snapshot = connection.snapshot_if_none()?;
    let columns = BATCH_ITEMS.select(connection, &[]);
    let mut statement =
        snapshot.prepare_long(&format!("select {columns}, length(body) from batch_items order by id"))?;
    let mut rows = statement.query(params![])?;
    while let Some(row) = rows.next()? {
        let size = BATCH_ITEMS.check_from(0, &row, &[])?;
        each(&row, size)?;
    }
    Ok(())
}

/// All batches with their runs, oldest first; for the same reason.
fn all_batches(connection: &Connection) -> Result<Vec<(String, StoredBatch)>, ReadFailure> {
    let select = format!("select {} from batches order by id", BATCHES.select(connection, &[]));
    let mut statement = connection.prepare_cached(&select)?;
    let batches = statement.query_map(params![], |row| Ok((row.get(2)?, read_batch(row)?)))?;
    Ok(batches.collect::<Result<_, _>>()?)
}

fn read_batch(row: &Row<'_>) -> SqlResult<StoredBatch> {
    BATCHES.check(row, &[])?;
    Ok(StoredBatch {
        key: row.get(1)?,
        model: row.get(3)?,
        lines: row.get(4)?,
        state: match row.get(5)? {
            0 => BatchState::Prepared,
            1 => BatchState::Created,
            3 => BatchState::Cancelled,
            _ => BatchState::Read,
        },
        file: row.get(6)?,
        remote_id: row.get(7)?,
        created_at: Moment(row.get(8)?),
    })
}
