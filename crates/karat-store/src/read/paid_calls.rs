//! Calls that a run has paid for, read back when it is resumed or retried.

use std::collections::BTreeSet;

use karat_types::{CallRecord, CellError, Key};
use rustc_hash::FxHashSet;

use crate::block::section_cache::SectionKind;
use crate::error::Damage;
use crate::format::run_lookup::run_number;
use crate::format::unpack_call;
use crate::read::account::{Account, PaidCalls, TraceLocation};
use crate::{Store, StoreError};

impl Store {
    /// Returns the account of a run: its spending and its unused paid replies.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the run's call log cannot be read.
    pub fn account(&self, run: &str) -> Result<Account, StoreError> {
        self.read_account(run, &FxHashSet::default())
    }

    /// As [`Store::account`], for a retry. Where one call of a cell or judgment gave no reply, or one that could not be
    /// read, the replies of its other calls are paid and are used again, and so are those of a cell whose tool or simulated
    /// user failed.
    ///
    /// # Errors
    /// As [`Store::account`], or a row of the run cannot be read.
    pub fn account_for_retry(&self, run: &str) -> Result<Account, StoreError> {
        self.read_account(run, &self.failed_calls(run)?)
    }

    fn read_account(&self, run: &str, failures: &FxHashSet<Key>) -> Result<Account, StoreError> {
        self.read("the call log of a run", |connection| {
            Account::of_run(connection, run_number(connection, run)?, failures)
        })
    }

    /// Returns the calls of all cells and judgments that failed beside good replies.
    fn failed_calls(&self, run: &str) -> Result<FxHashSet<Key>, StoreError> {
        let (finished, rows) = (self.finished_cells(run)?, self.rows(run)?);
        let of_failure = |error: &Option<CellError>, calls: Vec<Key>| {
            let is_left = error.as_ref().is_some_and(CellError::leaves_good_replies);
            if is_left { calls } else { Vec::new() }
        };
        let mut calls = FxHashSet::default();
        for ordinal in finished.errors.iter() {
            let cell = match rows.cell(ordinal) {
                // It is made again, from whatever was paid for it.
                Err(StoreError::Damaged { .. }) => None,
                cell => cell?,
            };
            calls.extend(cell.map(|cell| of_failure(&cell.error, cell.calls)).into_iter().flatten());
        }
        let unscored = finished.judgments.values().flat_map(|judged| judged.unscored.iter());
        for ordinal in unscored.collect::<BTreeSet<_>>() {
            let judgments = rows.judgments(ordinal)?.into_iter();
            calls.extend(judgments.flat_map(|judgment| of_failure(&judgment.error, judgment.calls)));
        }
        Ok(calls)
    }
}

impl PaidCalls {
    /// Reads an unused reply by its key from the store of the run.
    ///
    /// # Errors
    /// Its trace cannot be read.
    pub fn get(&self, store: &Store, key: Key) -> Result<Option<CallRecord>, StoreError> {
        self.at.get(&key).or_else(|| self.again.get(&key)).map_or(Ok(None), |at| at.read(store, key))
    }

    /// Reads a call with this key that was stopped before its next attempt. The call is repeated; the record of its
    /// earlier attempts stays valid.
    ///
    /// # Errors
    /// Its trace cannot be read.
    pub fn interrupted_call(&self, store: &Store, key: Key) -> Result<Option<CallRecord>, StoreError> {
        self.cut_short.get(&key).map_or(Ok(None), |at| at.read(store, key))
    }
}

impl TraceLocation {
    /// Reads the call with this key; `None` if its bytes were pruned.
    pub(crate) fn read(self, store: &Store, key: Key) -> Result<Option<CallRecord>, StoreError> {
        store.read("a paid call", |connection| {
            let traces = &store.0.cache.section(connection, self.block, SectionKind::Traces)?.section;
            if traces.is_empty() {
                return Ok(None);
            }
            let call = unpack_call(traces.entry(self.entry)?)?;
            if call.key == key { Ok(Some(call)) } else { Err(Damage("another call is in its place".to_owned()).into()) }
        })
    }
}
