//! What a run has paid for: read back by whoever goes on with it.

use karat_types::{CallRecord, Key};
use rustc_hash::FxHashMap;

use crate::cache::Kind;
use crate::calllog::EndedCall;
use crate::format::unpack_call;
use crate::{Store, StoreError};

/// Replies that a run paid for and that no cell or judgment of it rests on yet, because it was cut off in between.
/// A resumed run takes them from here instead of calling again.
#[derive(Debug, Default)]
pub struct PaidCalls {
    at: FxHashMap<Key, TraceAt>,
    /// Calls without a reply that nothing rests on either: the run was stopped before their next attempt.
    cut_short: FxHashMap<Key, TraceAt>,
}

/// Where a call's trace lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TraceAt {
    pub block: i64,
    pub entry: u64,
}

impl PaidCalls {
    pub(crate) fn add(&mut self, call: &EndedCall, at: TraceAt) {
        let calls = if call.is_ok { &mut self.at } else { &mut self.cut_short };
        calls.insert(call.key, at);
    }

    pub(crate) fn used(&mut self, key: Key) {
        self.at.remove(&key);
        self.cut_short.remove(&key);
    }

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
