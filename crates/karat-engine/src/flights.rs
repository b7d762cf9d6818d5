//! Single flight: work under one content key is done once at a time, and those who come meanwhile share the result.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use karat_types::Key;
use tokio::sync::OnceCell;

const SHARDS: usize = 64;

/// Work under way, by key.
pub(crate) struct Flights<T> {
    shards: Vec<Mutex<HashMap<Key, Arc<OnceCell<T>>>>>,
}

impl<T: Clone> Flights<T> {
    pub fn new() -> Self {
        Self { shards: std::iter::repeat_with(Mutex::default).take(SHARDS).collect() }
    }

    /// Does the work, or waits for whoever is doing it. Says whether the result is shared.
    pub async fn join(&self, key: Key, work: impl Future<Output = T>) -> (T, bool) {
        let shard = &self.shards[usize::from(key.0[0]) % SHARDS];
        let cell = shard.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
        let mut shared = true;
        let result = cell
            .get_or_init(|| async {
                shared = false;
                work.await
            })
            .await
            .clone();
        if !shared {
            shard.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        }
        (result, shared)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// BY-06: variants that share a step share its output within a run.
    #[tokio::test]
    async fn the_same_key_is_worked_on_once() {
        let flights = Flights::new();
        let count = AtomicU32::new(0);
        let work = || async {
            tokio::task::yield_now().await;
            count.fetch_add(1, Ordering::Relaxed)
        };
        let key = Key::of("k", b"");
        let (one, other) = tokio::join!(flights.join(key, work()), flights.join(key, work()));
        assert_eq!((one.0, other.0), (0, 0));
        assert_eq!(u32::from(one.1) + u32::from(other.1), 1);
        assert_eq!(flights.join(key, work()).await, (1, false));
    }
}
