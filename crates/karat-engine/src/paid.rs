//! What earlier parts of a run have paid.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use karat_store::{PaidCalls, Store};
use karat_types::{CallErrorCode, CallRecord, CellError, Key, Money};

/// Calls that earlier parts of the run have paid and that no cell or judgment rests on, or one that is made again.
pub(crate) struct Paid {
    calls: PaidCalls,
    /// Those of saved steps whose cost a cell has told by now.
    told: Mutex<HashSet<Key>>,
    /// Replies that were of no use again.
    useless: Mutex<HashSet<Key>>,
}

impl Paid {
    pub fn new(calls: PaidCalls) -> Self {
        Self { calls, told: Mutex::default(), useless: Mutex::default() }
    }

    /// A paid call whose answer can be used.
    pub fn answer(&self, store: &Store, key: Key) -> Option<CallRecord> {
        self.calls.get(store, key).ok().flatten().filter(|_| !held(&self.useless).contains(&key))
    }

    /// Whether what a call has cost stands in no row, nor in one that is made again.
    pub fn is_untold(&self, key: Key) -> bool {
        self.calls.contains(key)
    }

    /// Gives up the replies among these calls that a failed cell or judgment rested on; `false` when there are none, so that
    /// nothing changes by asking again. A reply that nobody could read, beside a call that failed, shows only now.
    pub fn give_up(&self, calls: &[Key], error: &CellError) -> bool {
        let is_unread = error.code == CellError::UNREADABLE || error.code == CallErrorCode::Malformed.as_str();
        let kept = calls.iter().filter(|key| is_unread && self.calls.is_of_rerun(**key));
        let mut useless = held(&self.useless);
        kept.filter(|key| useless.insert(**key)).count() > 0
    }

    /// Whether the run was stopped between attempts of this call, of which one told impossible numbers.
    pub fn was_impossible(&self, store: &Store, key: Key) -> bool {
        self.calls.interrupted_call(store, key).is_ok_and(|record| record.is_some_and(|record| record.impossible))
    }

    /// What was paid for these calls of a saved step and no cell has told: who asks first tells it.
    pub fn untold(&self, store: &Store, calls: &[Key]) -> Money {
        let is_first = |key: &&Key| held(&self.told).insert(**key);
        let untold = calls.iter().filter(|key| self.calls.contains(**key)).filter(is_first);
        untold.filter_map(|key| self.answer(store, *key)?.cost).sum()
    }
}

fn held(keys: &Mutex<HashSet<Key>>) -> MutexGuard<'_, HashSet<Key>> {
    keys.lock().unwrap_or_else(PoisonError::into_inner)
}
