//! What a run has paid for: read back by whoever goes on with it.

use karat_types::{CallRecord, Key, Money};
use rustc_hash::FxHashMap;

use crate::account::{Account, Spending, TraceAt};
use crate::cache::Kind;
use crate::calllog::Reservation;
use crate::format::unpack_call;
use crate::known::run_number;
use crate::{Store, StoreError};

/// Replies that a run paid for and that no cell or judgment of it rests on yet, because it was cut off in between.
/// A resumed run takes them from here instead of calling again.
#[derive(Debug)]
pub struct PaidCalls {
    store: Store,
    at: FxHashMap<Key, TraceAt>,
}

impl PaidCalls {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Whether there is one of this key.
    pub fn contains(&self, key: Key) -> bool {
        self.at.contains_key(&key)
    }

    /// Fetches one by its key.
    ///
    /// # Errors
    /// Its trace cannot be read.
    pub fn get(&self, key: Key) -> Result<Option<CallRecord>, StoreError> {
        let Some(TraceAt { block, entry }) = self.at.get(&key).copied() else {
            return Ok(None);
        };
        self.store.read("a paid call", |connection| {
            let traces = &self.store.0.cache.section(connection, block, Kind::Traces)?.section;
            Ok(Some(unpack_call(traces.entry(entry)?)?))
        })
    }
}

impl Store {
    /// The successful calls of a run that no row rests on yet.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the run's call log cannot be read.
    pub fn paid_calls(&self, run: &str) -> Result<PaidCalls, StoreError> {
        let at = self.account(run)?.unused;
        Ok(PaidCalls { store: self.clone(), at })
    }

    /// What a run has reserved and not settled: if it was cut off, this may have been paid and counts as spent.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the run's call log cannot be read.
    pub fn open_reservations(&self, run: &str) -> Result<Reservation, StoreError> {
        Ok(self.spending(run)?.open)
    }

    /// Calls and money of a run so far.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the run's call log cannot be read.
    pub fn spending(&self, run: &str) -> Result<Spending, StoreError> {
        Ok(self.account(run)?.spending)
    }

    /// What the dearest call of a run has cost; `None` where none is known to have cost anything.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the run's call log cannot be read.
    pub fn dearest_call(&self, run: &str) -> Result<Option<Money>, StoreError> {
        Ok(self.account(run)?.dearest)
    }

    /// Calls of a run that are known to have cost something.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the run's call log cannot be read.
    pub fn billed_calls(&self, run: &str) -> Result<u64, StoreError> {
        Ok(self.account(run)?.billed)
    }

    fn account(&self, run: &str) -> Result<Account, StoreError> {
        self.read("the call log of a run", |connection| Account::of_run(connection, run_number(connection, run)?))
    }
}
