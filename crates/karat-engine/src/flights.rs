//! Single flight: work under one content key is done once at a time, and those who come meanwhile share the result.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use karat_store::{ResultLease, StoreLease, WriteGuard};
use karat_types::Key;
use tokio::sync::OnceCell;

const SHARDS: usize = 64;

/// Work under way, by key. Clones are the same.
pub(crate) struct Flights<T>(Arc<[Shard<T>]>);

type Shard<T> = Mutex<HashMap<Key, Flight<T>>>;

struct Flight<T> {
    result: Arc<OnceCell<T>>,
    /// Keeps other processes from doing the same.
    lease: Option<ResultLease>,
}

impl<T> Default for Flight<T> {
    fn default() -> Self {
        Self { result: Arc::default(), lease: None }
    }
}

/// Held by whoever did the work: the result stays shared until this is dropped. Keep it until the result can be found
/// elsewhere, or the work may be done again.
pub(crate) struct Landing<T> {
    flights: Flights<T>,
    key: Key,
}

impl<T> Flight<T> {
    fn take_lease(&mut self, company: &StoreLease, key: Key) -> bool {
        if self.lease.is_none() {
            self.lease = company.lease(key);
        }
        self.lease.is_some()
    }
}

impl<T> Landing<T> {
    /// What other processes wait for, to be let go when the result is on disk.
    pub fn lease(&self) -> Option<WriteGuard> {
        self.flights.lease(self.key)
    }
}

impl<T> Drop for Landing<T> {
    fn drop(&mut self) {
        self.flights.shard(self.key).remove(&self.key);
    }
}

impl<T> Flights<T> {
    pub fn new() -> Self {
        Self(std::iter::repeat_with(Mutex::default).take(SHARDS).collect())
    }

    fn shard(&self, key: Key) -> MutexGuard<'_, HashMap<Key, Flight<T>>> {
        self.0[usize::from(key.0[0]) % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lease of work that is under way, to be kept until its result has landed. Says whether it has it now.
    pub fn take_lease(&self, company: &StoreLease, key: Key) -> bool {
        self.shard(key).get_mut(&key).is_some_and(|flight| flight.take_lease(company, key))
    }

    /// Takes the leases of all work that is under way, as far as nobody else has them.
    pub fn take_leases(&self, company: &StoreLease) {
        for shard in &*self.0 {
            for (key, flight) in shard.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
                flight.take_lease(company, *key);
            }
        }
    }

    /// The lease of some work, where it has one.
    pub fn lease(&self, key: Key) -> Option<WriteGuard> {
        self.shard(key).get_mut(&key).and_then(|flight| flight.lease.take()).map(WriteGuard::new)
    }
}

impl<T: Clone> Flights<T> {
    /// Does the work, or waits for whoever is doing it. Who did it gets a [`Landing`].
    pub async fn join(&self, key: Key, work: impl Future<Output = T>) -> (T, Option<Landing<T>>) {
        let cell = self.shard(key).entry(key).or_default().result.clone();
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
