//! What waits for somebody who takes one after the other: put there many at a time, so that whoever puts it is woken once
//! for many.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, Semaphore};

/// With no more than so many waiting, the next may be put there.
const FEW: usize = 32;

/// The side that puts. Dropped, it ends the queue: takers get what waits, and then nothing.
pub(crate) struct Putter<T>(Arc<Queue<T>>);

/// A side that takes.
pub(crate) struct Taker<T>(Arc<Queue<T>>);

struct Queue<T> {
    waiting: Mutex<VecDeque<T>>,
    /// As many permits as wait; at the end, one more for each taker.
    there: Semaphore,
    /// Told when few are left, and when nobody takes any more.
    few: Notify,
    takers: AtomicUsize,
}

/// A queue without takers; [`Putter::taker`] makes them.
pub(crate) fn queue<T>() -> Putter<T> {
    Putter(Arc::new(Queue {
        waiting: Mutex::default(),
        there: Semaphore::new(0),
        few: Notify::new(),
        takers: AtomicUsize::new(0),
    }))
}

impl<T> Putter<T> {
    pub fn taker(&self) -> Taker<T> {
        self.0.takers.fetch_add(1, Ordering::Relaxed);
        Taker(self.0.clone())
    }

    /// Puts these behind those that wait.
    pub fn put(&self, more: impl IntoIterator<Item = T>) {
        let mut waiting = self.0.waiting();
        let before = waiting.len();
        waiting.extend(more);
        let added = waiting.len() - before;
        drop(waiting);
        self.0.there.add_permits(added);
    }

    /// Returns when few are left; `false` when nobody takes any more.
    pub async fn few_left(&self) -> bool {
        loop {
            if self.0.takers.load(Ordering::Acquire) == 0 {
                return false;
            }
            if self.0.waiting().len() <= FEW {
                return true;
            }
            self.0.few.notified().await;
        }
    }
}

impl<T> Drop for Putter<T> {
    fn drop(&mut self) {
        self.0.there.add_permits(self.0.takers.load(Ordering::Acquire));
    }
}

impl<T> Taker<T> {
    /// The next, once there is one and then `ready` has come; `None` once there are no more.
    pub async fn take(&self, ready: impl Future<Output = ()>) -> Option<T> {
        self.0.there.acquire().await.ok()?.forget();
        ready.await;
        let mut waiting = self.0.waiting();
        let next = waiting.pop_front();
        if waiting.len() == FEW {
            self.0.few.notify_one();
        }
        next
    }
}

impl<T> Drop for Taker<T> {
    fn drop(&mut self) {
        if self.0.takers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.few.notify_one();
        }
    }
}

impl<T> Queue<T> {
    fn waiting(&self) -> std::sync::MutexGuard<'_, VecDeque<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;

    #[tokio::test]
    async fn everything_is_taken_once_and_in_order() {
        let putter = queue();
        let takers = [putter.taker(), putter.taker()];
        putter.put(0..FEW + 2);
        let late = putter.taker();
        for expected in 0..FEW + 1 {
            assert_eq!(takers[expected % 2].take(ready(())).await, Some(expected));
        }
        drop(putter);
        assert_eq!(late.take(ready(())).await, Some(FEW + 1));
        for taker in takers.iter().chain([&late]) {
            assert_eq!(taker.take(ready(())).await, None);
        }
    }

    /// Whoever puts waits while many wait, and no longer than anybody takes.
    #[tokio::test]
    async fn whoever_puts_waits_for_takers() {
        use futures::FutureExt;

        let putter = queue();
        let taker = putter.taker();
        putter.put(0..FEW + 1);
        assert_eq!(putter.few_left().now_or_never(), None);
        taker.take(ready(())).await;
        assert_eq!(putter.few_left().now_or_never(), Some(true));
        putter.put(0..FEW);
        let (few_left, ()) = tokio::join!(putter.few_left(), async { drop(taker) });
        assert!(!few_left);
    }
}
