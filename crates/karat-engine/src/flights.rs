//! Single flight: work under one content key is done once at a time, and those who come meanwhile share the result.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use karat_types::Key;
use tokio::sync::OnceCell;

const SHARDS: usize = 64;

/// Work under way, by key. Clones are the same.
pub(crate) struct Flights<T>(Arc<[Shard<T>]>);

type Shard<T> = Mutex<HashMap<Key, Arc<OnceCell<T>>>>;

/// Held by whoever did the work: the result stays shared until this is dropped. Keep it until the result can be found
/// elsewhere, or the work may be done again.
pub(crate) struct Landing<T> {
    flights: Flights<T>,
    key: Key,
}

impl<T> Drop for Landing<T> {
    fn drop(&mut self) {
        self.flights.shard(self.key).lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

impl<T> Flights<T> {
    pub fn new() -> Self {
        Self(std::iter::repeat_with(Mutex::default).take(SHARDS).collect())
    }

    fn shard(&self, key: Key) -> &Shard<T> {
        &self.0[usize::from(key.0[0]) % SHARDS]
    }
}

impl<T: Clone> Flights<T> {
    /// Does the work, or waits for whoever is doing it. Who did it gets a [`Landing`].
    pub async fn join(&self, key: Key, work: impl Future<Output = T>) -> (T, Option<Landing<T>>) {
        let cell = self.shard(key).lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
        let mut landing = None;
        let result = cell
            .get_or_init(|| async {
                landing = Some(Landing { flights: Self(self.0.clone()), key });
                work.await
            })
            .await
            .clone();
        (result, landing)
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
        assert!(one.1.is_some() != other.1.is_some());
        assert_eq!(flights.join(key, work()).await.0, 0);
        drop((one, other));
        assert_eq!(flights.join(key, work()).await.0, 1);
    }
}
