//! What a run has paid for: read back by whoever goes on with it.

use std::collections::BTreeSet;

use karat_types::{CallRecord, CellError, Key};
use rustc_hash::FxHashSet;

use crate::account::{Account, PaidCalls, TraceAt};
use crate::cache::Kind;
use crate::format::unpack_call;
use crate::known::run_number;
use crate::{Store, StoreError};

impl Store {
    /// What a run has spent and paid for so far.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the run's call log cannot be read.
    pub fn account(&self, run: &str) -> Result<Account, StoreError> {
        self.account_with(run, &FxHashSet::default())
    }

    /// As [`Store::account`], for a part of the run that makes again what failed: where one call of a cell or judgment gave
    /// no reply, those of its other calls are paid and need not be made again. Where a reply was of no use, all are.
    ///
    /// # Errors
    /// As [`Store::account`], or a row of the run cannot be read.
    pub fn account_of_retry(&self, run: &str) -> Result<Account, StoreError> {
        let failures = self.calls_of_failures(run)?;
        let mut account = self.account_with(run, &failures.iter().flatten().copied().collect())?;
        let PaidCalls { again, unanswered, .. } = &mut account.paid;
        // Where all calls have a reply, one of these was of no use.
        let failed = failures.iter().filter(|calls| calls.iter().any(|key| unanswered.contains(key)));
        let kept: FxHashSet<&Key> = failed.flatten().collect();
        again.retain(|key, _| kept.contains(key));
        Ok(account)
    }

    fn account_with(&self, run: &str, failures: &FxHashSet<Key>) -> Result<Account, StoreError> {
        self.read("the call log of a run", |connection| {
            Account::of_run(connection, run_number(connection, run)?, failures)
        })
    }

    /// The calls of each cell and judgment that stands as failed because a call seems to have.
    fn calls_of_failures(&self, run: &str) -> Result<Vec<Vec<Key>>, StoreError> {
        let (finished, rows) = (self.finished(run)?, self.rows(run)?);
        let is_call_failure = |error: &Option<CellError>| error.as_ref().is_some_and(CellError::is_call_failure);
        let mut calls = Vec::new();
        for ordinal in finished.errors.iter() {
            calls.extend(rows.cell(ordinal)?.filter(|cell| is_call_failure(&cell.error)).map(|cell| cell.calls));
        }
        let unscored = finished.judgments.values().flat_map(|judged| judged.unscored.iter());
        for ordinal in unscored.collect::<BTreeSet<_>>() {
            let failed = rows.judgments(ordinal)?.into_iter().filter(|judgment| is_call_failure(&judgment.error));
            calls.extend(failed.map(|judgment| judgment.calls));
        }
        Ok(calls)
    }
}

impl PaidCalls {
    /// Fetches one by its key from the store that the run lies in.
    ///
    /// # Errors
    /// Its trace cannot be read.
    pub fn get(&self, store: &Store, key: Key) -> Result<Option<CallRecord>, StoreError> {
        self.at.get(&key).or_else(|| self.again.get(&key)).map(|at| at.read(store)).transpose()
    }

    /// Fetches a call of this key that was stopped before its next attempt: it is made again, and what its attempts came to
    /// stays true.
    ///
    /// # Errors
    /// Its trace cannot be read.
    pub fn cut_short(&self, store: &Store, key: Key) -> Result<Option<CallRecord>, StoreError> {
        self.cut_short.get(&key).map(|at| at.read(store)).transpose()
    }
}

impl TraceAt {
    fn read(self, store: &Store) -> Result<CallRecord, StoreError> {
        store.read("a paid call", |connection| {
            let traces = &store.0.cache.section(connection, self.block, Kind::Traces)?.section;
            Ok(unpack_call(traces.entry(self.entry)?)?)
        })
    }
}
