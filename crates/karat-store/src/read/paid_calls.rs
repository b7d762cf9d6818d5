//! Calls that a run has paid for, read back when it is resumed or retried.

use std::collections::BTreeSet;

use karat_types::{CallRecord, CellError, Key};
use rustc_hash::FxHashSet;

use crate::block::section_cache::SectionKind;
use crate::format::unpack_call;
use crate::read::account::{Account, PaidCalls, TraceLocation};
use crate::read::run_lookup::run_number;
use crate::{Store, StoreError};

/// The calls of a failed cell or judgment.
struct FailedCalls {
    calls: Vec<Key>,
    /// True if what failed is no part of the system, so that the replies are good.
    is_beside: bool,
}

impl Store {
    /// Returns the account of a run: its spending and its unused paid replies.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the run's call log cannot be read.
    pub fn account(&self, run: &str) -> Result<Account, StoreError> {
        self.read_account(run, &FxHashSet::default())
    }

    /// As [`Store::account`], for a retry. Where one call of a cell or judgment gave no reply, the replies of its
    /// other calls are paid and are used again, and so are those of a cell whose tool or simulated user failed. Where
    /// every call has a reply, one of them was useless, and all calls are repeated.
    ///
    /// # Errors
    /// As [`Store::account`], or a row of the run cannot be read.
    pub fn account_for_retry(&self, run: &str) -> Result<Account, StoreError> {
        let failures = self.failed_calls(run)?;
        let mut account =
            self.read_account(run, &failures.iter().flat_map(|failed| &failed.calls).copied().collect())?;
        let PaidCalls { again, unanswered, .. } = &mut account.paid;
        // If all calls have a reply, one of the replies was useless.
        let failed = failures.iter().filter(|it| it.is_beside || it.calls.iter().any(|key| unanswered.contains(key)));
        let kept: FxHashSet<&Key> = failed.flat_map(|failed| &failed.calls).collect();
        again.retain(|key, _| kept.contains(key));
        Ok(account)
    }

    fn read_account(&self, run: &str, failures: &FxHashSet<Key>) -> Result<Account, StoreError> {
        self.read("the call log of a run", |connection| {
            Account::of_run(connection, run_number(connection, run)?, failures)
        })
    }

    /// Returns the calls of each cell and judgment that failed because of a call.
    fn failed_calls(&self, run: &str) -> Result<Vec<FailedCalls>, StoreError> {
        let (finished, rows) = (self.finished_cells(run)?, self.rows(run)?);
        let of_failure = |error: &Option<CellError>, calls| {
            let error = error.as_ref()?;
            let is_beside = error.is_beside_system();
            (is_beside || error.is_call_failure()).then_some(FailedCalls { calls, is_beside })
        };
        let mut calls = Vec::new();
        for ordinal in finished.errors.iter() {
            // One that cannot be read is made again, from whatever was paid for it.
            let cell = rows.cell(ordinal).ok().flatten();
            calls.extend(cell.and_then(|cell| of_failure(&cell.error, cell.calls)));
        }
        let unscored = finished.judgments.values().flat_map(|judged| judged.unscored.iter());
        for ordinal in unscored.collect::<BTreeSet<_>>() {
            let judgments = rows.judgments(ordinal)?.into_iter();
            calls.extend(judgments.filter_map(|judgment| of_failure(&judgment.error, judgment.calls)));
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
        self.at.get(&key).or_else(|| self.again.get(&key)).map(|at| at.read(store)).transpose()
    }

    /// Reads a call with this key that was stopped before its next attempt. The call is repeated; the record of its
    /// earlier attempts stays valid.
    ///
    /// # Errors
    /// Its trace cannot be read.
    pub fn interrupted_call(&self, store: &Store, key: Key) -> Result<Option<CallRecord>, StoreError> {
        self.cut_short.get(&key).map(|at| at.read(store)).transpose()
    }
}

impl TraceLocation {
    fn read(self, store: &Store) -> Result<CallRecord, StoreError> {
        store.read("a paid call", |connection| {
            let traces = &store.0.cache.section(connection, self.block, SectionKind::Traces)?.section;
            Ok(unpack_call(traces.entry(self.entry)?)?)
        })
    }
}
