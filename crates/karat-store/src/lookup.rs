//! Single things by their content key.

use karat_types::{CallRecord, JudgmentRecord, Key, Moment, StepRecord};
use rusqlite::{Connection, params};
use serde_json::Value;

use crate::cache::{Kind, Loaded};
use crate::calllog::{self, CallEvent};
use crate::error::ReadFailure;
use crate::format::{unpack_call, unpack_judgment, unpack_step};
use crate::known::run_number;
use crate::pack::Damage;
use crate::reuse::{Place, ReuseKey};
use crate::section::Section;
use crate::{Store, StoreError};

pub(crate) const CALLS_OF_RUN: &str = "select seq, log from blocks where run = ?1 order by seq desc";
/// What is read, in errors.
pub(crate) const STEP: &str = "a step's output";
pub(crate) const JUDGMENT: &str = "a judgment";
const CALLS_OF_ALL_RUNS: &str = "select seq, log from blocks where ?1 is null order by seq desc";

/// A record with the run that made it.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored<T> {
    /// The record.
    pub record: T,
    /// Id of the run.
    pub run: String,
    /// When that run began: the record is not older.
    pub run_started_at: Moment,
}

/// Reads an output.
pub(crate) fn output_value(entry: &[u8]) -> Result<Value, Damage> {
    serde_json::from_slice(entry).map_err(|error| Damage(format!("an output is no JSON: {error}")))
}

impl Store {
    /// Looks for results that other processes have written: a run that begins, and whoever reads without writing, asks
    /// for it.
    ///
    /// # Errors
    /// The lists of new results cannot be read.
    pub fn catch_up(&self) -> Result<(), StoreError> {
        self.read("the keys of reusable results", |connection| self.0.known_keys.refresh(connection))
    }

    /// The latest place of a key. Most keys are new, and nearly always that is known without asking SQLite.
    pub(crate) fn place(&self, what: &'static str, key: ReuseKey) -> Result<Option<Place>, StoreError> {
        let keys = &self.0.known_keys;
        keys.recall(key).map_or_else(|| self.read(what, |connection| keys.find(connection, key)), Ok)
    }

    /// The latest output of a step, made by any run.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn step(&self, key: Key) -> Result<Option<Stored<StepRecord>>, StoreError> {
        self.place(STEP, (key, Kind::Outputs))?.map(|place| self.step_at(key, place)).transpose()
    }

    pub(crate) fn step_at(&self, key: Key, place: Place) -> Result<Stored<StepRecord>, StoreError> {
        self.reusable(STEP, place, Kind::Outputs, |outputs, entry| {
            unpack_step(key, outputs.entry(entry)?, |distance| {
                let output = entry.checked_sub(distance).ok_or_else(|| Damage("its output lies nowhere".to_owned()))?;
                output_value(outputs.entry(output)?)
            })
        })
    }

    /// The latest judgment under a key that failed in nothing, made by any run. Ordinal, scorer and judge are those of
    /// that run.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn judgment(&self, key: Key) -> Result<Option<Stored<JudgmentRecord>>, StoreError> {
        self.place(JUDGMENT, (key, Kind::Judgments))?.map(|place| self.judgment_at(place)).transpose()
    }

    pub(crate) fn judgment_at(&self, place: Place) -> Result<Stored<JudgmentRecord>, StoreError> {
        self.reusable(JUDGMENT, place, Kind::Judgments, |judgments, entry| unpack_judgment(judgments.entry(entry)?))
    }

    fn reusable<T>(
        &self,
        what: &'static str,
        Place { block, entry }: Place,
        kind: Kind,
        unpack: impl FnOnce(&Section, u64) -> Result<T, Damage>,
    ) -> Result<Stored<T>, StoreError> {
        self.read(what, |connection| {
            let loaded = self.0.cache.section(connection, block, kind)?;
            Ok(loaded.stored(unpack(&loaded.section, entry)?))
        })
    }

    /// The latest call under a key, a successful one before a failed one: of this run where it has one, else of any. There
    /// is none where its bytes were pruned.
    /// A search through the call logs, for people who look at one call; machines use [`Store::account`].
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or a call log or the trace cannot be read.
    pub fn call(&self, run: Option<&str>, key: Key) -> Result<Option<Stored<CallRecord>>, StoreError> {
        self.read("a call", |connection| {
            let own = match run {
                Some(run) => find_call(connection, Some(run_number(connection, run)?), key)?,
                None => None,
            };
            let Some(found) = own.map_or_else(|| find_call(connection, None, key), |found| Ok(Some(found)))? else {
                return Ok(None);
            };
            let loaded = self.0.cache.section(connection, found.block, Kind::Traces)?;
            if loaded.section.is_empty() {
                return Ok(None);
            }
            Ok(Some(loaded.stored(unpack_call(loaded.section.entry(found.entry)?)?)))
        })
    }
}

impl Loaded {
    /// A record of this section with the run that made it.
    fn stored<T>(&self, record: T) -> Stored<T> {
        Stored { record, run: self.run.clone(), run_started_at: self.run_started_at }
    }
}

#[derive(Debug, Clone, Copy)]
struct FoundCall {
    block: i64,
    entry: u64,
    is_ok: bool,
}

/// Looks through blocks, newest first, until a successful call is found.
fn find_call(connection: &Connection, run: Option<i64>, wanted: Key) -> Result<Option<FoundCall>, ReadFailure> {
    let mut statement = connection.prepare_cached(match run {
        Some(_) => CALLS_OF_RUN,
        None => CALLS_OF_ALL_RUNS,
    })?;
    let mut rows = statement.query(params![run])?;
    let mut best = None;
    while let Some(row) = rows.next()? {
        let log = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        if let Some(found) = find_in_log(row.get(0)?, log, wanted)? {
            if found.is_ok {
                return Ok(Some(found));
            }
            best = best.or(Some(found));
        }
    }
    Ok(best)
}

/// The last call under a key in one block's log, a successful one before a failed one.
fn find_in_log(block: i64, log: &[u8], wanted: Key) -> Result<Option<FoundCall>, Damage> {
    if !log.windows(wanted.0.len()).any(|window| window == wanted.0) {
        return Ok(None);
    }
    let (mut best, mut entry) = (None::<FoundCall>, 0);
    for event in calllog::read(log)? {
        if let CallEvent::Ended(call) = event? {
            if call.key == wanted && (call.is_ok || !best.is_some_and(|found| found.is_ok)) {
                best = Some(FoundCall { block, entry, is_ok: call.is_ok });
            }
            entry += 1;
        }
    }
    Ok(best)
}
