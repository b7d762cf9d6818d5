//! Look-up of single records by their content key.

use karat_types::{CallRecord, JudgmentRecord, Key, Moment, StepRecord};
use serde_json::Value;

use crate::block::call_log;
use crate::block::call_log::CallEvent;
use crate::block::section::Section;
use crate::block::section_cache::{EntryPlace, LoadedSection, ReuseKey, SectionKind};
use crate::error::{Damage, ReadFailure};
use crate::format::run_lookup::run_number;
use crate::format::{unpack_call, unpack_judgment, unpack_step};
use crate::read::account::{log_query, read_log};
use crate::sql::{Connection, params};
use crate::{Store, StoreError};

pub(crate) const CALLS_OF_RUN: &str = "from blocks where run = ?1 order by seq desc";
/// Names of what is read, for errors.
pub(crate) const STEP: &str = "a step's output";
pub(crate) const JUDGMENT: &str = "a judgment";
const CALLS_OF_ALL_RUNS: &str = "from blocks where cast(?1 as bigint) is null order by seq desc";

/// A record with the run that made it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRecord<T> {
    /// The record.
    pub record: T,
    /// Id of the run.
    pub run: String,
    /// Start of that run. The record is not older.
    pub run_started_at: Moment,
}

/// Parses an output.
pub(crate) fn parse_output(entry: &[u8]) -> Result<Value, Damage> {
    karat_types::json::parse_slice(entry).map_err(|error| Damage(format!("an output is not JSON: {error}")))
}

impl Store {
    /// Reads the results that other processes have written since. A starting run calls it, and so does a process that
    /// reads without writing.
    ///
    /// # Errors
    /// The lists of new results cannot be read.
    pub fn catch_up(&self) -> Result<(), StoreError> {
        self.read("the keys of reusable results", |connection| self.0.known_keys.refresh(connection))
    }

    /// Returns the latest place of a key. Most keys are new, and nearly always memory answers that without a query.
    pub(crate) fn place(&self, what: &'static str, key: ReuseKey) -> Result<Option<EntryPlace>, StoreError> {
        let keys = &self.0.known_keys;
        keys.recall(key).map_or_else(|| self.read(what, |connection| keys.find(connection, key)), Ok)
    }

    /// Returns the latest output of a step, from any run.
    ///
    /// # Errors
    /// The output exists and cannot be read.
    pub fn step(&self, key: Key) -> Result<Option<StoredRecord<StepRecord>>, StoreError> {
        self.place(STEP, (key, SectionKind::Outputs))?.map(|place| self.step_at(key, place)).transpose()
    }

    pub(crate) fn step_at(&self, key: Key, place: EntryPlace) -> Result<StoredRecord<StepRecord>, StoreError> {
        self.read_reusable(STEP, place, SectionKind::Outputs, |outputs, entry| {
            unpack_step(key, outputs.entry(entry)?, |distance| {
                let output = entry
                    .checked_sub(distance)
                    .ok_or_else(|| Damage("the place of its output is invalid".to_owned()))?;
                parse_output(outputs.entry(output)?)
            })
        })
    }

    /// Returns the latest sound judgment with a key, from any run. Its ordinal, scorer and judge are those of that
    /// run.
    ///
    /// # Errors
    /// The judgment exists and cannot be read.
    pub fn judgment(&self, key: Key) -> Result<Option<StoredRecord<JudgmentRecord>>, StoreError> {
        self.place(JUDGMENT, (key, SectionKind::Judgments))?.map(|place| self.judgment_at(place)).transpose()
    }

    pub(crate) fn judgment_at(&self, place: EntryPlace) -> Result<StoredRecord<JudgmentRecord>, StoreError> {
        self.read_reusable(JUDGMENT, place, SectionKind::Judgments, |judgments, entry| {
            unpack_judgment(judgments.entry(entry)?)
        })
    }

    fn read_reusable<T>(
        &self,
        what: &'static str,
        EntryPlace { block, entry }: EntryPlace,
        kind: SectionKind,
        unpack: impl FnOnce(&Section, u64) -> Result<T, Damage>,
    ) -> Result<StoredRecord<T>, StoreError> {
        self.read(what, |connection| {
            let loaded = self.0.cache.section(connection, block, kind)?;
            Ok(loaded.with_run(unpack(&loaded.section, entry)?))
        })
    }

    /// Returns the latest call with a key, for preference a successful one: of this run if it has one, else of any run.
    /// Returns `None` if its bytes were pruned.
    ///
    /// Searches all call logs, for people who look at one call. Code uses [`Store::account`].
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or a call log or the trace cannot be read.
    pub fn call(&self, run: Option<&str>, key: Key) -> Result<Option<StoredRecord<CallRecord>>, StoreError> {
        Ok(match self.calls(run, &[key])?.pop() {
            Some(StoredCall::Kept(call)) => Some(*call),
            _ => None,
        })
    }

    /// Returns what is kept of the calls with these keys, in their order, as [`Store::call`] finds each: one pass over the
    /// logs for all of them.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or a call log or a trace cannot be read.
    pub fn calls(&self, run: Option<&str>, keys: &[Key]) -> Result<Vec<StoredCall>, StoreError> {
        self.read("a call", |connection| {
            let mut search = CallSearch::new(keys);
            if let Some(run) = run {
                search.scan(connection, Some(run_number(connection, run)?))?;
            }
            search.scan(connection, None)?;
            let call = |place: &CallPlace| match place.found {
                None => Ok(StoredCall::Missing),
                Some(found) => {
                    let loaded = self.0.cache.section(connection, found.block, SectionKind::Traces)?;
                    if loaded.section.is_empty() {
                        return Ok(StoredCall::Pruned);
                    }
                    let record = unpack_call(loaded.section.entry(found.entry)?)?;
                    Ok(StoredCall::Kept(Box::new(loaded.with_run(record))))
                }
            };
            search.places.iter().map(call).collect()
        })
    }
}

/// The state of a call in the store.
#[derive(Debug, Clone, PartialEq)]
pub enum StoredCall {
    /// The call with its bytes.
    Kept(Box<StoredRecord<CallRecord>>),
    /// The call was made, and its bytes were pruned.
    Pruned,
    /// No run has made it.
    Missing,
}

impl LoadedSection {
    /// Adds the run that wrote this section to a record.
    fn with_run<T>(&self, record: T) -> StoredRecord<T> {
        StoredRecord { record, run: self.run.clone(), run_started_at: self.run_started_at }
    }
}

#[derive(Debug, Clone, Copy)]
struct FoundCall {
    block: i64,
    entry: u64,
    is_ok: bool,
}

/// A key that is searched, and the best call found for it.
struct CallPlace {
    key: Key,
    found: Option<FoundCall>,
}

/// The search for several calls in the logs of blocks.
struct CallSearch {
    places: Vec<CallPlace>,
}

impl CallSearch {
    fn new(keys: &[Key]) -> Self {
        Self { places: keys.iter().map(|key| CallPlace { key: *key, found: None }).collect() }
    }

    /// Searches the blocks of a run or of all, newest first, until it has found a successful call for each key that
    /// earlier scans did not find.
    fn scan(&mut self, connection: &Connection, run: Option<i64>) -> Result<(), ReadFailure> {
        let mut open: Vec<&mut CallPlace> = self.places.iter_mut().filter(|place| place.found.is_none()).collect();
        if open.is_empty() {
            return Ok(());
        }
        let snapshot = connection.snapshot_if_none()?;
        let end = if run.is_some() { CALLS_OF_RUN } else { CALLS_OF_ALL_RUNS };
        let mut statement = snapshot.prepare_long(&log_query(&snapshot, end))?;
        let mut rows = statement.query(params![run])?;
        while let Some(row) = rows.next()? {
            let (block, log) = read_log(&row)?;
            for place in &mut open {
                if let Some(found) = find_in_log(block, log, place.key)? {
                    place.found = place.found.filter(|_| !found.is_ok).or(Some(found));
                }
            }
            open.retain(|place| place.found.is_none_or(|found| !found.is_ok));
            if open.is_empty() {
                break;
            }
        }
        Ok(())
    }
}

/// Returns the last call with a key in one block's log, for preference a successful one.
fn find_in_log(block: i64, log: &[u8], wanted: Key) -> Result<Option<FoundCall>, Damage> {
    if memchr::memmem::find(log, &wanted.0).is_none() {
        return Ok(None);
    }
    let (mut best, mut entry) = (None::<FoundCall>, 0);
    for event in call_log::read(log)? {
        if let CallEvent::Ended(call) = event? {
            if call.key == wanted && (call.is_ok || !best.is_some_and(|found| found.is_ok)) {
                best = Some(FoundCall { block, entry, is_ok: call.is_ok });
            }
            entry += 1;
        }
    }
    Ok(best)
}
