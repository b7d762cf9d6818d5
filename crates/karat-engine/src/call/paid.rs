//! Replies that earlier parts of a run have paid for.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use karat_store::{PaidCalls, Store};
use karat_types::{CallErrorCode, CallRecord, CellError, Key, Money};

/// The paid calls that no cell or judgment of the run uses yet, or whose cell is re-run.
pub(crate) struct PaidReplies {
    calls: PaidCalls,
    /// Calls of saved steps whose cost a cell has reported by now.
    told: Mutex<HashSet<Key>>,
    /// Replies that turned out to be unusable again.
    useless: Mutex<HashSet<Key>>,
}

impl PaidReplies {
    pub fn new(calls: PaidCalls) -> Self {
        Self { calls, told: Mutex::default(), useless: Mutex::default() }
    }

    /// The record of a paid call whose answer can be used.
    pub fn reply(&self, store: &Store, key: Key) -> Option<CallRecord> {
        self.calls.get(store, key).ok().flatten().filter(|_| !lock(&self.useless).contains(&key))
    }

    /// Returns whether the cost of a call stands in no row, or only in a row that is re-run.
    pub fn is_unreported(&self, key: Key) -> bool {
        self.calls.contains(key)
    }

    /// Discards the replies among these calls that a failed cell or judgment rested on: if a tool failed, only those of
    /// programs and services, because the model's are good. Returns `false` if there are none, so that asking again
    /// changes nothing. Only now does it show that a reply was unreadable beside a call that failed.
    pub fn give_up(&self, store: &Store, calls: &[Key], error: &CellError) -> bool {
        let is_unread = error.code == CellError::UNREADABLE || error.code == CallErrorCode::Malformed.as_str();
        let is_tool = error.code == CellError::TOOL;
        let of_tool = |key: &Key| {
            self.reply(store, *key).is_some_and(|record| matches!(record.model.as_str(), "command" | "http"))
        };
        let kept: Vec<&Key> = (calls.iter())
            .filter(|key| self.calls.is_of_rerun(**key) && (is_unread || (is_tool && of_tool(key))))
            .collect();
        let mut useless = lock(&self.useless);
        kept.into_iter().filter(|key| useless.insert(**key)).count() > 0
    }

    /// Returns whether the run was stopped between attempts of this call, one of which reported impossible counts.
    pub fn was_impossible(&self, store: &Store, key: Key) -> bool {
        self.calls.interrupted_call(store, key).is_ok_and(|record| record.is_some_and(|record| record.impossible))
    }

    /// The cost of these calls of a saved step that no cell has reported: the first cell to ask reports it.
    pub fn unreported_cost(&self, store: &Store, calls: &[Key]) -> Money {
        let is_first = |key: &&Key| lock(&self.told).insert(**key);
        let untold = calls.iter().filter(|key| self.calls.contains(**key)).filter(is_first);
        untold.filter_map(|key| self.reply(store, *key)?.cost).sum()
    }
}

fn lock(keys: &Mutex<HashSet<Key>>) -> MutexGuard<'_, HashSet<Key>> {
    keys.lock().unwrap_or_else(PoisonError::into_inner)
}
