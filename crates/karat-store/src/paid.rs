//! What a run has paid for: read back by whoever goes on with it.

use karat_types::{CallRecord, Key};
use rustc_hash::FxHashMap;

use crate::cache::Kind;
use crate::format::unpack_call;
use crate::{Store, StoreError};

/// Replies that a run paid for and that no cell or judgment of it rests on yet, because it was cut off in between.
/// A resumed run takes them from here instead of calling again.
#[derive(Debug, Default)]
pub struct PaidCalls {
    at: FxHashMap<Key, TraceAt>,
}

/// Where a call's trace lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TraceAt {
    pub block: i64,
    pub entry: u64,
}

impl PaidCalls {
    pub(crate) fn add(&mut self, key: Key, at: TraceAt) {
        self.at.insert(key, at);
    }

    pub(crate) fn used(&mut self, key: Key) {
        self.at.remove(&key);
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
        let Some(TraceAt { block, entry }) = self.at.get(&key).copied() else {
            return Ok(None);
        };
        store.read("a paid call", |connection| {
            let traces = &store.0.cache.section(connection, block, Kind::Traces)?.section;
            Ok(Some(unpack_call(traces.entry(entry)?)?))
        })
    }
}
