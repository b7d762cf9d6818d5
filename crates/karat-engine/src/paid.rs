//! What earlier parts of a run have paid.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use karat_store::{PaidCalls, Store};
use karat_types::{CallRecord, Key, Money};

/// Calls that earlier parts of the run have paid and that no cell or judgment rests on, or one that is made again.
pub(crate) struct Paid {
    calls: PaidCalls,
    /// Those of saved steps whose cost a cell has told by now.
    told: Mutex<HashSet<Key>>,
}

impl Paid {
    pub fn new(calls: PaidCalls) -> Self {
        Self { calls, told: Mutex::default() }
    }

    /// A paid call whose answer can be used.
    pub fn answer(&self, store: &Store, key: Key) -> Option<CallRecord> {
        self.calls.get(store, key).ok().flatten()
    }

    /// Whether the run was stopped between attempts of this call, of which one told impossible numbers.
    pub fn was_impossible(&self, store: &Store, key: Key) -> bool {
        self.calls.cut_short(store, key).is_ok_and(|record| record.is_some_and(|record| record.impossible))
    }

    /// What was paid for these calls of a saved step and no cell has told: who asks first tells it.
    pub fn untold(&self, store: &Store, calls: &[Key]) -> Money {
        let is_first = |key: &&Key| self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(**key);
        let untold = calls.iter().filter(|key| self.calls.contains(**key)).filter(is_first);
        untold.filter_map(|key| self.answer(store, *key)?.cost).sum()
    }
}
