//! What a run has paid for: read back by whoever goes on with it.

use karat_types::{CallRecord, Key};

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
        self.read("the call log of a run", |connection| Account::of_run(connection, run_number(connection, run)?))
    }
}

impl PaidCalls {
    /// Fetches one by its key from the store that the run lies in.
    ///
    /// # Errors
    /// Its trace cannot be read.
    pub fn get(&self, store: &Store, key: Key) -> Result<Option<CallRecord>, StoreError> {
        self.at.get(&key).map(|at| at.read(store)).transpose()
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
