//! Single flight: work under one content key is done once at a time; concurrent callers share the result.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use karat_store::{ResultLease, StoreLease, WriteGuard};
use karat_types::Key;
use tokio::sync::OnceCell;

const SHARDS: usize = 64;

/// Running work by key. Clones share the work.
pub(crate) struct SingleFlight<T>(Arc<[Shard<T>]>);

type Shard<T> = Mutex<HashMap<Key, RunningWork<T>>>;

struct RunningWork<T> {
    result: Arc<OnceCell<T>>,
    /// Keeps other processes from doing the same work.
    lease: Option<ResultLease>,
}

impl<T> Default for RunningWork<T> {
    fn default() -> Self {
        Self { result: Arc::default(), lease: None }
    }
}

/// Held by the caller that did the work: the result stays shared until this is dropped. Keep it until the result can be
/// found elsewhere, or the work may be repeated.
pub(crate) struct FlightGuard<T> {
    flights: SingleFlight<T>,
    key: Key,
}

impl<T> RunningWork<T> {
    fn take_lease(&mut self, store_lease: &StoreLease, key: Key) -> bool {
        if self.lease.is_none() {
            self.lease = store_lease.lease(key);
        }
        self.lease.is_some()
    }
}

impl<T> FlightGuard<T> {
    /// Takes the lease that other processes wait for, to be released once the result is on disk.
    pub fn lease(&self) -> Option<WriteGuard> {
        self.flights.lease(self.key)
    }
}

impl<T> Drop for FlightGuard<T> {
    fn drop(&mut self) {
        self.flights.shard(self.key).remove(&self.key);
    }
}

impl<T> SingleFlight<T> {
    pub fn new() -> Self {
        Self(std::iter::repeat_with(Mutex::default).take(SHARDS).collect())
    }

    fn shard(&self, key: Key) -> MutexGuard<'_, HashMap<Key, RunningWork<T>>> {
        self.0[usize::from(key.0[0]) % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lease of running work, to be kept until its result is on disk. Returns whether this process holds it
    /// now.
    pub fn take_lease(&self, store_lease: &StoreLease, key: Key) -> bool {
        self.shard(key).get_mut(&key).is_some_and(|flight| flight.take_lease(store_lease, key))
    }

    /// Takes the leases of all running work, except those that other processes hold.
    pub fn take_leases(&self, store_lease: &StoreLease) {
        for shard in &*self.0 {
            for (key, flight) in shard.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
                flight.take_lease(store_lease, *key);
            }
        }
    }

    /// Takes the lease of some work out, if it has one.
    pub fn lease(&self, key: Key) -> Option<WriteGuard> {
        self.shard(key).get_mut(&key).and_then(|flight| flight.lease.take()).map(WriteGuard::new)
    }
}

impl<T: Clone> SingleFlight<T> {
    /// Does the work, or waits for the caller that is doing it. The caller that did it gets a [`FlightGuard`].
    pub async fn join(&self, key: Key, work: impl Future<Output = T>) -> (T, Option<FlightGuard<T>>) {
        let cell = self.shard(key).entry(key).or_default().result.clone();
        let mut flight = None;
        let result = cell
            .get_or_init(|| async {
                flight = Some(FlightGuard { flights: Self(self.0.clone()), key });
                work.await
            })
            .await
            .clone();
        (result, flight)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// BY-06: variants that share a step share its output within a run.
    #[tokio::test]
    async fn work_under_one_key_is_done_once() {
        let flights = SingleFlight::new();
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
