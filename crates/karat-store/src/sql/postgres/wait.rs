//! Waits for a future on the calling thread. A runtime refuses to block inside of another one, and the store is called
//! from the tasks of its users.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use tokio::time::Instant;

/// The longest time between two looks at a silent server.
const LONGEST_SILENCE: Duration = Duration::from_secs(30);

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future that another thread completes.
pub(super) fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Waits for a future that another thread completes. After each silence, which grows, `is_coming` says whether it is worth
/// waiting longer; `None` if it is not.
pub(super) fn wait_while<T>(
    future: impl Future<Output = T>,
    mut silence: Duration,
    mut is_coming: impl FnMut() -> bool,
) -> Option<T> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let mut due = Instant::now() + silence;
    let mut is_given_up = false;
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return Some(value),
            Poll::Pending if is_given_up => return None,
            Poll::Pending => {}
        }
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            // It may have come during the look, so there is one more poll.
            is_given_up = !is_coming();
            silence = (silence * 2).min(LONGEST_SILENCE.max(silence));
            due = Instant::now() + silence;
        } else {
            std::thread::park_timeout(left);
        }
    }
}
